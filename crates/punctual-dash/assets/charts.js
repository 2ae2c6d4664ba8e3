// Charts: lines over time, bars of workers, and one band per level of a queue. They are drawn anew once a second; nothing moves in
// between.

import { clock, h, path, put, svg, under } from "./dom.js";

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

const tick = (x, y, text, attributes) => svg("text", { class: "tick", x, y, ...attributes }, text);
const strong = { class: "tick strong" };

/** Times below a chart, at its ends and where else they are wanted (0 to 1). */
const times = (parts, left, right, y, first, span) =>
  parts.map((part) => tick(left + part * (right - left), y, clock(first + part * span), { "text-anchor": ["start", "middle", "end"][part * 2] }));

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
      parts.push(tick(left - 6, at + 4, format(most * part), { "text-anchor": "end" }));
    }
    parts.push(...times([0, 0.5, 1], left, right, height - 3, first, span));
    series.forEach((s, index) => {
      const points = seen.map((row) => [x(row[0]), y(s.value(row))]);
      if (s.kind === "area") parts.push(svg("path", { class: "area s" + index, d: under(points.map(([px, py]) => [px, py ?? bottom]), bottom) }));
      parts.push(svg("path", { class: (s.kind === "limit" ? "limit" : "line") + " s" + index, d: path(points) }));
    });
    let shown = seen.at(-1);
    if (pointer != null && seen.length) {
      const time = first + ((pointer - left) / (right - left)) * span;
      shown = seen.reduce((best, row) => (Math.abs(row[0] - time) < Math.abs(best[0] - time) ? row : best));
      parts.push(svg("line", { class: "pointer", x1: x(shown[0]), x2: x(shown[0]), y1: top, y2: bottom }));
      parts.push(tick(Math.min(x(shown[0]) + 4, right - 48), top + 8, clock(shown[0]), strong));
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

const hues = new Map();

/** Each name gets the next place on the circle, far from the ones before. */
function hue(text) {
  if (hues.size > 500) hues.clear();
  if (!hues.has(text)) hues.set(text, (215 + hues.size * 137.5) % 360);
  return hues.get(text);
}

const colour = (label) => `hsl(${hue(label)} 45% 47%)`;

/** Which colour is which task, of those that took the most time. */
function explain(legend, bars) {
  const time = new Map();
  for (const bar of bars) if (bar.label) time.set(bar.label, (time.get(bar.label) ?? 0) + bar.end - bar.begin);
  const most = [...time.entries()].sort((one, other) => other[1] - one[1]).slice(0, 8).map(([label]) => label);
  if (legend.dataset.shows === most.join("\n")) return;
  legend.dataset.shows = most.join("\n");
  const key = (label) => {
    const node = h("span", { class: "key" }, label);
    node.style.setProperty("--ink", colour(label));
    return node;
  };
  legend.replaceChildren(...most.sort().map(key));
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
    const place = (bar) => bar.part + "\u0000" + String(bar.worker).padStart(6, "0");
    const names = [...new Set(bars.map(place))].sort();
    const width = canvas.clientWidth;
    if (!width) return;
    const line = names.length > 24 ? 10 : 18;
    const left = 46, height = names.length * line + 20;
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const paint = canvas.getContext("2d");
    paint.scale(scale, scale);
    const ink = (name) => {
      canvas.style.color = `var(--${name})`;
      return getComputedStyle(canvas).color;
    };
    const [muted, text, bad, several] = ["muted", "text", "bad", "bar"].map(ink);
    paint.font = "11px system-ui, sans-serif";
    paint.fillStyle = muted;
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
      const row = names.indexOf(place(bar));
      const begin = x(bar.begin), wide = Math.max(1.5, x(bar.end) - begin - 0.5);
      // Of several kinds: grey. What goes on is paler.
      paint.fillStyle = bar.panicked ? bad : bar.label ? colour(bar.label) : several;
      paint.globalAlpha = bar.open ? 0.65 : 1;
      paint.fillRect(begin, row * line + 2, wide, line - 4);
      paint.globalAlpha = 1;
      if (wide > 60 && line > 12) {
        paint.save();
        paint.beginPath();
        paint.rect(begin, row * line, wide - 4, line);
        paint.clip();
        paint.fillStyle = bar.label ? "#fff" : text;
        paint.fillText(barText(bar), begin + 5, row * line + line - 5);
        paint.restore();
      }
      drawn.push([begin, row * line, wide, line, bar]);
    }
    explain(legend, bars);
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

/** The time around row `at` in which a task of the level waited; null if none did. */
function stretch(rows, at, level) {
  const waits = (row) => row?.[9][level]?.[1] != null;
  if (!waits(rows[at])) return null;
  let [first, last] = [at, at];
  while (waits(rows[first - 1])) first--;
  while (waits(rows[last + 1])) last++;
  const oldest = Math.max(...rows.slice(first, last + 1).map((row) => row[9][level][1]));
  // A row tells the second before it.
  return { level, from: Math.round(rows[first - 1]?.[0] ?? rows[first][0] - 1000), to: Math.round(rows[last][0]), oldest };
}

/**
 * For each level how long its oldest task waited, and marks where waiting lifted a task above others. A click on a stretch, or
 * Enter where the arrow keys led, picks it: `pick({level, from, to, oldest})`.
 */
export function levelChart(names, format, pick) {
  const plot = svg("svg", { role: "group", tabindex: 0, "aria-label": "oldest wait of each level; arrow keys move, Enter shows what was served instead", "data-testid": "chart-levels" });
  let [rows, span, seen] = [[], 300000, []];
  let [cursor, picked] = [null, null]; // the cursor: {level, time}
  let place = () => ({ level: 0, time: 0 });
  const nearest = (time) => seen.reduce((best, row, index) => (Math.abs(row[0] - time) < Math.abs(seen[best][0] - time) ? index : best), 0);
  const choose = ({ level, time }) => {
    picked = seen.length ? stretch(seen, nearest(time), level) : null;
    draw();
    pick(picked ?? { level, oldest: null });
  };
  const draw = () => {
    const width = plot.clientWidth;
    if (!width) return;
    const levels = rows.at(-1)?.[9]?.length ?? 0;
    const band = 44, left = 78, right = width - 62;
    plot.setAttribute("height", levels * band + 18);
    const last = rows.at(-1)?.[0] ?? Date.now();
    seen = rows.filter((row) => row[0] >= last - span);
    const most = ceiling(Math.max(1, ...seen.flatMap((row) => row[9].map((level) => level[1] ?? 0))));
    const x = (time) => left + Math.max(0, (time - last + span) / span) * (right - left);
    const top = (level) => level * band + 4;
    place = (px, py) => ({ level: Math.max(0, Math.min(levels - 1, Math.floor(py / band))), time: last - span + ((px - left) / (right - left)) * span });
    const parts = [];
    if (picked && picked.to > last - span) parts.push(svg("rect", { class: "picked", x: x(picked.from), y: top(picked.level), width: Math.max(3, x(picked.to) - x(picked.from)), height: band - 6 }));
    if (cursor) parts.push(svg("rect", { class: "cursor", x: x(cursor.time) - 2, y: top(cursor.level), width: 4, height: band - 6 }));
    let marks = 0;
    for (let level = 0; level < levels; level++) {
      const base = (level + 1) * band - 4;
      const points = seen.map((row) => [x(row[0]), base - ((row[9][level]?.[1] ?? 0) / most) * (band - 12)]);
      const [queued, oldest] = rows.at(-1)[9][level];
      parts.push(tick(0, base - 14, names(level, levels), strong), tick(0, base - 1, queued + " waiting"), tick(right + 8, base - 14, format(oldest), strong));
      parts.push(svg("line", { class: "grid", x1: left, x2: right, y1: base, y2: base }));
      parts.push(svg("path", { class: "area l" + (level % 4), d: under(points, base) }), svg("path", { class: "line l" + (level % 4), d: path(points) }));
      for (const row of seen) {
        const lifted = row[9][level]?.[2];
        if (!lifted) continue;
        marks++;
        const at = x(row[0]);
        parts.push(svg("path", { class: "lift", d: `M${at - 4} ${base}L${at} ${base - 8}L${at + 4} ${base}Z` }, svg("title", {}, `${lifted} lifted by waiting, ${clock(row[0])}`)));
      }
    }
    parts.push(...times([0, 1], left, right, levels * band + 13, last - span, span));
    plot.dataset.lifts = marks;
    plot.replaceChildren(...parts);
  };
  plot.addEventListener("click", (event) => choose((cursor = place(event.offsetX, event.offsetY))));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!seen.length || (!step && event.key !== "Enter")) return;
    event.preventDefault();
    const levels = seen.at(-1)[9].length;
    const { level, time } = cursor ?? { level: levels - 1, time: seen.at(-1)[0] };
    if (!step) return choose((cursor = { level, time }));
    const row = seen[Math.max(0, Math.min(seen.length - 1, nearest(time) + step[1]))];
    cursor = { level: Math.max(0, Math.min(levels - 1, level + step[0])), time: row[0] };
    draw();
  });
  watched(plot, draw);
  return {
    clear() {
      [cursor, picked] = [null, null];
      draw();
    },
    node: h("div", { class: "levels" }, plot),
    set(next, milliseconds) {
      [rows, span] = [next, shownSpan(next, milliseconds)];
      draw();
    },
  };
}
