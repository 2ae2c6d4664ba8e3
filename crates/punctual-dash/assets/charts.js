// Charts: lines over time, a small one for tables, bars of workers, and one band per level of a queue. They are drawn anew
// once a second; nothing moves in between.

import { clock, h, put, svg } from "./dom.js";

const observer = new ResizeObserver((entries) => entries.forEach((entry) => entry.target.redraw?.()));

function watched(node, redraw) {
  node.redraw = redraw;
  observer.observe(node);
}

/** A round number not below `value`, whose half is round too. */
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

/** No more time than there are rows for, but a minute. */
function shownSpan(rows, span) {
  const known = rows.length ? rows.at(-1)[0] - rows[0][0] : 0;
  return Math.min(span, Math.max(known, 60000));
}

/** Pieces of a line; nothing is drawn where there is no value. */
function path(points) {
  let text = "";
  let open = false;
  for (const [x, y] of points) {
    if (y == null) open = false;
    else {
      text += (open ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
      open = true;
    }
  }
  return text;
}

/**
 * Lines over time. `series`: [{label, value(row), kind: "line" | "area" | "limit"}]; `format` writes the axis. Rows are arrays
 * that begin with their time.
 */
export function lineChart({ id, title, series, format, whole }) {
  const plot = svg("svg", { role: "img", "aria-label": title, "data-testid": "chart-" + id });
  const keys = series.map((s, i) => h("span", { class: "key s" + i }, s.label, " ", h("b")));
  const node = h("figure", { class: "chart" }, h("figcaption", {}, h("span", { class: "chart-title" }, title), h("span", { class: "keys" }, keys)), plot);
  let rows = [];
  let span = 300000;
  let pointer = null;
  const draw = () => {
    const width = plot.clientWidth;
    const height = plot.clientHeight || 150;
    if (!width) return;
    const left = 46, bottom = height - 18, top = 8, right = width - 6;
    const last = rows.at(-1)?.[0] ?? Date.now();
    const first = last - span;
    const seen = rows.filter((row) => row[0] >= first);
    let most = Math.max(0, ...seen.flatMap((row) => series.map((s) => s.value(row) ?? 0)));
    most = ceiling(whole ? Math.max(most, 2) : most);
    const x = (time) => left + ((time - first) / span) * (right - left);
    const y = (value) => (value == null ? null : bottom - (value / most) * (bottom - top));
    const parts = [];
    for (const part of [0, 0.5, 1]) {
      const at = bottom - part * (bottom - top);
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      parts.push(svg("text", { class: "tick", x: left - 6, y: at + 4, "text-anchor": "end" }, format(most * part)));
    }
    for (const part of [0, 0.5, 1]) {
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      parts.push(svg("text", { class: "tick", x: left + part * (right - left), y: height - 3, "text-anchor": anchor }, clock(first + part * span)));
    }
    series.forEach((s, index) => {
      const points = seen.map((row) => [x(row[0]), y(s.value(row))]);
      if (s.kind === "area" && points.length > 1) {
        const under = path(points.map(([px, py]) => [px, py ?? bottom]));
        parts.push(svg("path", { class: "area s" + index, d: under + `L${points.at(-1)[0].toFixed(1)} ${bottom}L${points[0][0].toFixed(1)} ${bottom}Z` }));
      }
      parts.push(svg("path", { class: (s.kind === "limit" ? "limit" : "line") + " s" + index, d: path(points) }));
    });
    let shown = seen.at(-1);
    if (pointer != null && seen.length) {
      const time = first + ((pointer - left) / (right - left)) * span;
      shown = seen.reduce((best, row) => (Math.abs(row[0] - time) < Math.abs(best[0] - time) ? row : best));
      parts.push(svg("line", { class: "pointer", x1: x(shown[0]), x2: x(shown[0]), y1: top, y2: bottom }));
      parts.push(svg("text", { class: "tick strong", x: Math.min(x(shown[0]) + 4, right - 48), y: top + 8 }, clock(shown[0])));
    }
    series.forEach((s, index) => {
      const value = shown && s.value(shown);
      put(keys[index].lastChild, value == null ? "–" : format(value));
    });
    plot.replaceChildren(...parts);
  };
  plot.addEventListener("pointermove", (event) => {
    pointer = event.offsetX;
    draw();
  });
  plot.addEventListener("pointerleave", () => {
    pointer = null;
    draw();
  });
  watched(plot, draw);
  return {
    node,
    set(next, milliseconds) {
      [rows, span] = [next, shownSpan(next, milliseconds)];
      draw();
    },
  };
}

/** A minute in the width of a word. */
export function sparkline() {
  const line = svg("path", { class: "line s0" });
  const area = svg("path", { class: "area s0" });
  const node = svg("svg", { class: "spark", viewBox: "0 0 120 28", preserveAspectRatio: "none", role: "img", "aria-label": "tasks waiting in the last minute" }, area, line);
  return {
    node,
    set(values) {
      const most = Math.max(1, ...values);
      const points = values.map((value, index) => [120 - (values.length - 1 - index) * (120 / 59), 26 - (value / most) * 24]);
      const text = path(points);
      line.setAttribute("d", text);
      area.setAttribute("d", points.length > 1 ? `${text}L120 28L${points[0][0].toFixed(1)} 28Z` : "");
    },
  };
}

const hues = new Map();

/** Each name gets the next place on the circle, far from the ones before. */
function hue(text) {
  if (hues.size > 500) hues.clear();
  if (!hues.has(text)) hues.set(text, (215 + hues.size * 137.5) % 360);
  return hues.get(text);
}

const colour = (label, dark) => `hsl(${hue(label)} 45% ${dark ? 46 : 48}%)`;

/** Which colour is which task, of those that took the most time. */
function explain(legend, bars, dark) {
  const time = new Map();
  for (const bar of bars) if (bar.label) time.set(bar.label, (time.get(bar.label) ?? 0) + bar.end - bar.begin);
  const most = [...time.entries()].sort((one, other) => other[1] - one[1]).slice(0, 8).map(([label]) => label);
  if (legend.dataset.shows === most.join("\n") + dark) return;
  legend.dataset.shows = most.join("\n") + dark;
  legend.replaceChildren(
    ...most.sort().map((label) => {
      const key = h("span", { class: "key" }, label);
      key.style.color = colour(label, dark);
      return key;
    }),
  );
}

function barText(bar) {
  if (!bar.label) return bar.ended + " tasks";
  return bar.label + (bar.ended > 1 ? " ×" + bar.ended : "") + (bar.panicked ? ", panicked" : "");
}

/** What each worker did in the last minute, or in the time a dump covers. */
export function workerChart() {
  const canvas = h("canvas", { role: "img", "aria-label": "what each worker did", "data-testid": "chart-workers" });
  const tip = h("output", { class: "tip", hidden: true });
  const legend = h("div", { class: "keys" });
  const node = h("div", { class: "workers" }, canvas, tip, legend);
  let [bars, until, span] = [[], Date.now(), 60000];
  let drawn = [];
  const draw = () => {
    const names = [...new Set(bars.map((bar) => bar.part + "\u0000" + String(bar.worker).padStart(6, "0")))].sort();
    const width = canvas.clientWidth;
    if (!width) return;
    const line = names.length > 24 ? 10 : 18;
    const left = 46, height = names.length * line + 20;
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const paint = canvas.getContext("2d");
    paint.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const dark = style.getPropertyValue("--is-dark").trim() === "1";
    paint.font = "11px system-ui, sans-serif";
    paint.fillStyle = paint.strokeStyle = style.getPropertyValue("--muted");
    const x = (time) => left + Math.max(0, (time - (until - span)) / span) * (width - left - 4);
    names.forEach((name, index) => {
      if (line > 12 || index % 2 === 0) paint.fillText("#" + Number(name.split("\u0000")[1]), 4, index * line + line - 5);
    });
    [0, 0.5, 1].forEach((part) => {
      paint.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
      paint.fillText(clock(until - span * (1 - part)), left + part * (width - left - 4), height - 4);
    });
    paint.textAlign = "left";
    drawn = [];
    for (const bar of bars) {
      if (bar.end < until - span) continue;
      const row = names.indexOf(bar.part + "\u0000" + String(bar.worker).padStart(6, "0"));
      const begin = x(bar.begin), wide = Math.max(1.5, x(bar.end) - begin - 0.5);
      // Of several kinds: grey. What goes on is paler.
      paint.fillStyle = bar.panicked ? style.getPropertyValue("--bad") : bar.label ? colour(bar.label, dark) : style.getPropertyValue("--bar");
      paint.globalAlpha = bar.open ? 0.65 : 1;
      paint.fillRect(begin, row * line + 2, wide, line - 4);
      paint.globalAlpha = 1;
      if (wide > 60 && line > 12) {
        paint.save();
        paint.beginPath();
        paint.rect(begin, row * line, wide - 4, line);
        paint.clip();
        paint.fillStyle = bar.label ? "#fff" : style.getPropertyValue("--text");
        paint.fillText(barText(bar), begin + 5, row * line + line - 5);
        paint.restore();
      }
      drawn.push([begin, row * line, wide, line, bar]);
    }
    explain(legend, bars, dark);
    canvas.setAttribute("aria-label", `what ${names.length} workers did: ${drawn.length} bars`);
    canvas.dataset.bars = drawn.length;
  };
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    const hit = drawn.findLast(([x, y, wide, tall]) => offsetX >= x && offsetX <= x + wide && offsetY >= y && offsetY <= y + tall);
    tip.hidden = !hit;
    if (!hit) return;
    const bar = hit[4];
    put(tip, `#${bar.worker}${bar.part ? " " + bar.part : ""}  ${barText(bar)}  ${clock(bar.begin)} – ${clock(bar.end)}`);
    tip.style.left = Math.min(offsetX + 12, canvas.clientWidth - tip.offsetWidth) + "px";
    tip.style.top = offsetY + 14 + "px";
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  watched(canvas, draw);
  return {
    node,
    set(next, end, milliseconds = 60000) {
      [bars, until, span] = [next, end, milliseconds];
      draw();
    },
  };
}

/** For each level how long its oldest task waited, and marks where waiting lifted a task above others. */
export function levelChart(names, format) {
  const plot = svg("svg", { role: "img", "aria-label": "oldest wait of each level", "data-testid": "chart-levels" });
  let [rows, span] = [[], 300000];
  const draw = () => {
    const width = plot.clientWidth;
    if (!width) return;
    const levels = rows.at(-1)?.[9]?.length ?? 0;
    const band = 44, left = 78, right = width - 62;
    plot.setAttribute("height", levels * band + 18);
    const last = rows.at(-1)?.[0] ?? Date.now();
    const seen = rows.filter((row) => row[0] >= last - span);
    const most = ceiling(Math.max(1, ...seen.flatMap((row) => row[9].map((level) => level[1] ?? 0))));
    const x = (time) => left + ((time - last + span) / span) * (right - left);
    const parts = [];
    let marks = 0;
    for (let level = 0; level < levels; level++) {
      const base = (level + 1) * band - 4;
      const points = seen.map((row) => [x(row[0]), base - ((row[9][level]?.[1] ?? 0) / most) * (band - 12)]);
      parts.push(svg("text", { class: "tick strong", x: 0, y: base - 14 }, names(level, levels)));
      parts.push(svg("text", { class: "tick", x: 0, y: base - 1 }, (rows.at(-1)[9][level][0] ?? 0) + " waiting"));
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: base, y2: base }));
      if (points.length > 1) parts.push(svg("path", { class: "area l" + (level % 4), d: path(points) + `L${points.at(-1)[0].toFixed(1)} ${base}L${points[0][0].toFixed(1)} ${base}Z` }));
      parts.push(svg("path", { class: "line l" + (level % 4), d: path(points) }));
      const now = rows.at(-1)?.[9][level][1];
      parts.push(svg("text", { class: "tick strong", x: right + 8, y: base - 14 }, now == null ? "–" : format(now)));
      for (const row of seen) {
        const lifted = row[9][level]?.[2];
        if (!lifted) continue;
        marks++;
        const at = x(row[0]);
        parts.push(svg("path", { class: "lift", d: `M${at - 4} ${base}L${at} ${base - 8}L${at + 4} ${base}Z` }, svg("title", {}, `${lifted} lifted by waiting, ${clock(row[0])}`)));
      }
    }
    [0, 1].forEach((part) => parts.push(svg("text", { class: "tick", x: part ? right : left, y: levels * band + 13, "text-anchor": part ? "end" : "start" }, clock(last - span * (1 - part)))));
    plot.dataset.lifts = marks;
    plot.replaceChildren(...parts);
  };
  watched(plot, draw);
  return {
    node: h("div", { class: "levels" }, plot),
    set(next, milliseconds) {
      [rows, span] = [next, shownSpan(next, milliseconds)];
      draw();
    },
  };
}
