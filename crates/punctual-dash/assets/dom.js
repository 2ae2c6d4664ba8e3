// Building blocks: elements, numbers for people, tables whose rows stay the same elements while their figures change.
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

export const badge = (text, kind) => h("span", { class: "badge " + (kind ?? "") }, text);

/** A bar of `value` in `most`, with a mark; the words beside it say the same. */
export function meter(words) {
  const bar = h("span", { class: "meter-bar" });
  const label = h("span", { class: "meter-text" }, words ?? "");
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

/**
 * A table. `columns`: {title, cell(row) -> text, node(row) -> {node, set(row)}, align, label}. Rows are kept by `key(row)`, so
 * the focus stays where it is while figures change.
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
  const node = h("button", { type: "button", ...attributes }, text);
  const calm = () => {
    clearTimeout(timer);
    timer = undefined;
    put(node, text);
    node.classList.remove("sure");
  };
  node.addEventListener("click", () => {
    if (timer) {
      calm();
      act();
      return;
    }
    put(node, "sure?");
    node.classList.add("sure");
    timer = setTimeout(calm, 3000);
  });
  return node;
}
