// Building blocks: elements, numbers for people, small lines, tables whose rows stay the same elements while their figures change.
// Text from pools becomes text nodes and nothing else.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child != null && child !== false));
  return node;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const button = (text, onclick, attributes) => h("button", { type: "button", onclick, ...attributes }, text);
export const card = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), ...content);

/** Sets text only if it differs: a selection by the reader stays. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function count(n) {
  if (n == null) return "–";
  if (n < 10000) return Number.isInteger(n) ? String(n) : n.toFixed(1);
  const [divisor, unit] = n < 1e6 ? [1e3, "k"] : n < 1e9 ? [1e6, "M"] : [1e9, "G"];
  const small = n / divisor;
  return (small < 100 ? small.toFixed(1) : small.toFixed(0)) + " " + unit;
}

/** Milliseconds for people. */
export function span(ms) {
  if (ms == null) return "–";
  if (ms < 1) return Math.round(ms * 1000) + " µs";
  if (ms < 1000) return (ms < 10 ? ms.toFixed(1) : ms.toFixed(0)) + " ms";
  const s = ms / 1000;
  if (s < 60) return s.toFixed(1) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

export const clock = (ms) => new Date(ms).toLocaleTimeString([], { hour12: false });

/** A time on the clocks of a zone, with its offset, so that a change of clocks is seen. */
export function moment(ms, zone) {
  const options = { weekday: "short", month: "short", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "shortOffset" };
  try {
    return new Date(ms).toLocaleString("en-GB", zone ? { ...options, timeZone: zone } : options);
  } catch {
    return new Date(ms).toISOString();
  }
}

/** Whether one of them has the text in it. */
export const has = (text, ...values) => values.some((value) => String(value ?? "").toLowerCase().includes(text.toLowerCase()));

export const badge = (text, kind) => h("span", { class: "badge " + (kind ?? "") }, text);

/** Badges are made anew only when they say something else. */
export function badges(make) {
  const node = h("span", { class: "badges" });
  const words = (all) => all.map((one) => one.textContent).join();
  return {
    node,
    set(row) {
      const next = make(row);
      if (words(next) !== words([...node.children])) node.replaceChildren(...next);
    },
  };
}

/** A figure with its name above and a note below. */
export function tile(label, id) {
  const value = h("b", { "data-testid": id });
  const more = h("small");
  const node = h("div", { class: "tile" }, h("span", {}, label), value, more);
  return {
    node,
    set(text, note, kind) {
      put(value, text);
      put(more, note ?? "");
      node.className = "tile " + (kind ?? "");
    },
  };
}

/** A bar of `value` in `most`; the words beside it say the same. */
export function meter() {
  const bar = h("span", { class: "meter-bar" });
  const label = h("span", { class: "meter-text" });
  const node = h("span", { class: "meter" }, h("span", { class: "meter-track" }, bar), label);
  return {
    node,
    set(value, most, text) {
      const part = most > 0 ? Math.min(1, value / most) : 0;
      bar.style.width = (part * 100).toFixed(1) + "%";
      bar.className = "meter-bar" + (part >= 1 ? " full" : part > 0.7 ? " high" : "");
      put(label, text);
    },
  };
}

/** Pieces of a line; nothing is drawn where there is no value. */
export function path(points) {
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

/** The space below a line. */
export const under = (points, base) => (points.length > 1 ? path(points) + `L${points.at(-1)[0].toFixed(1)} ${base}L${points[0][0].toFixed(1)} ${base}Z` : "");

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
      line.setAttribute("d", path(points));
      area.setAttribute("d", under(points, 28));
    },
  };
}

/** A column of a table, each cell a text made of its row. */
export const column = (title, cell, align) => ({ title, cell, align });
export const number = (title, cell) => column(title, cell, "number");
export const name = (title, cell) => column(title, cell, "name");
export const wide = (title, cell) => column(title, cell, "wide");

/**
 * A table. `columns` are such, or {title, node(row) -> {node, set(row)}, align}. Rows are kept by `key(row)`, so the focus stays
 * where it is while figures change.
 */
export function table({ id, columns, key, empty }) {
  const body = h("tbody");
  const head = h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.align }, c.title)));
  const none = h("p", { class: "empty", "data-testid": id + "-empty" }, empty ?? "nothing");
  const node = h("div", { class: "table", "data-testid": id }, h("table", {}, h("thead", {}, head), body), none);
  const kept = new Map();
  const make = (row) => {
    const cells = columns.map((c) => {
      const td = h("td", { class: c.align, "data-label": c.title });
      if (!c.node) return { td, set: (r) => put(td, c.cell(r) ?? "–") };
      const part = c.node(row);
      td.append(part.node);
      return { td, set: part.set ?? (() => {}) };
    });
    return { tr: h("tr", {}, cells.map((c) => c.td)), cells };
  };
  return {
    node,
    set(rows) {
      const seen = new Set();
      rows.forEach((row, index) => {
        const k = key(row);
        seen.add(k);
        if (!kept.has(k)) kept.set(k, make(row));
        const { tr, cells } = kept.get(k);
        cells.forEach((cell) => cell.set(row));
        if (body.children[index] !== tr) body.insertBefore(tr, body.children[index] ?? null);
      });
      for (const [k, { tr }] of kept) {
        if (!seen.has(k)) {
          tr.remove();
          kept.delete(k);
        }
      }
      none.hidden = rows.length > 0;
      node.classList.toggle("is-empty", rows.length === 0);
    },
  };
}

/** A button that asks once more before it does something that cannot be taken back. */
export function sureButton(text, act, attributes) {
  let timer;
  const calm = () => {
    clearTimeout(timer);
    timer = undefined;
    put(node, text);
    node.classList.remove("sure");
  };
  const click = () => {
    if (timer) {
      calm();
      act();
      return;
    }
    put(node, "sure?");
    node.classList.add("sure");
    timer = setTimeout(calm, 3000);
  };
  const node = button(text, click, attributes);
  return node;
}
