// The page: what is shown is told by the fragment of the address, figures come by one stream, changes go by POST.

import { auditPage, overviewPage, schedulesPage } from "./pages.js";
import { button, h, put } from "./dom.js";

const root = document.documentElement;
const may = { act: root.dataset.mayAct === "yes", readOnly: root.dataset.readOnly === "yes" };

/** "#/pool/3/web?q=mail" */
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const [page, id, name] = path.split("/").slice(1).map(decodeURIComponent);
  return { page: page || "overview", id, name, filter: new URLSearchParams(query).get("q") ?? "" };
}

export function link(page, id, name) {
  const { filter } = place();
  const path = [page, id, name].filter((part) => part != null).map(encodeURIComponent).join("/");
  return "#/" + path + (filter ? "?q=" + encodeURIComponent(filter) : "");
}

// ---- what is asked of the server ---------------------------------------------------------------------------------------

async function ask(path, options) {
  const answer = await fetch(path, options);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error?.message ?? `the server answered ${answer.status}`);
  return body;
}

export const read = (path) => ask("api/v1/" + path);

/** Makes a change, and says what came of it. */
export async function act(path, body, undo) {
  try {
    const headers = { "x-punctual": "1", ...(body && { "content-type": "application/json" }) };
    const done = await ask("api/v1/" + path, { method: "POST", headers, body: body && JSON.stringify(body) });
    say(done.outcome, false, undo && done.before ? () => act(path, done.before) : undefined);
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  }
}

const toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite", "data-testid": "toasts" });

export function say(text, isBad, undo) {
  const note = h("div", { class: "toast" + (isBad ? " bad" : "") }, h("span", {}, text));
  const end = () => note.remove();
  if (undo) note.append(button("Undo", () => (end(), undo())));
  note.append(button("×", end, { class: "plain", "aria-label": "close" }));
  toasts.append(note);
  setTimeout(end, undo ? 15000 : 6000);
}

// ---- the frame round every page ----------------------------------------------------------------------------------------

const filter = h("input", { type: "search", placeholder: "Filter  ( / )", "aria-label": "filter", "data-testid": "filter" });
const live = h("span", { class: "live", "data-testid": "live" }, "connecting");
const foot = h("footer", {}, h("span", { "data-testid": "cost" }), h("a", { href: "metrics" }, "metrics"), fileButton());
const main = h("main", { tabindex: "-1" });
const PAGES = ["overview", "schedules", "audit"];
const tabs = PAGES.map((page) => h("a", { href: "#/" + page, "data-testid": "tab-" + page }, page[0].toUpperCase() + page.slice(1)));

function themeButton() {
  const themes = ["auto", "light", "dark"];
  const show = (theme) => {
    root.dataset.theme = theme;
    put(node, { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[theme]);
    node.setAttribute("aria-label", `colours: ${theme}`);
  };
  const change = () => {
    const next = themes[(themes.indexOf(root.dataset.theme) + 1) % 3];
    stored("theme", next);
    show(next);
    current?.redraw?.();
  };
  const node = button("", change, { class: "plain", "data-testid": "theme" });
  show(themes.find((theme) => theme === stored("theme")) ?? "auto");
  return node;
}

/** A browser may refuse to keep anything. */
function stored(key, value) {
  try {
    if (value === undefined) return localStorage.getItem("punctual-" + key);
    localStorage.setItem("punctual-" + key, value);
  } catch {
    return null;
  }
}

function fileButton() {
  const input = h("input", { type: "file", accept: "application/json,.json", class: "hidden", "data-testid": "dump-file", "aria-label": "open a dump" });
  input.addEventListener("change", async () => {
    try {
      await showDump(JSON.parse(await input.files[0].text()));
    } catch (error) {
      say("this is no dump: " + error.message, true);
    }
    input.value = "";
  });
  return h("label", { class: "file" }, "open a dump", input);
}

/** Who only looks is told how to act. */
function rights() {
  if (may.act) return h("span", { class: "badge good", "data-testid": "rights" }, "may act");
  if (may.readOnly) return h("span", { class: "badge", "data-testid": "rights" }, "read-only");
  const token = h("input", { type: "password", name: "token", placeholder: "token to act", "aria-label": "token", autocomplete: "off" });
  // Whoever unlocks comes back to where they were.
  const onsubmit = (event) => event.currentTarget.setAttribute("action", "session" + location.hash);
  return h("form", { method: "post", action: "session", class: "rights", "data-testid": "rights", onsubmit }, token, h("button", { type: "submit" }, "Unlock"));
}

const menu = h("nav", { "aria-label": "pages" }, tabs);
const header = h("header", {}, h("a", { class: "brand", href: "#/overview" }, h("span", { class: "mark" }), "Punctual"), menu, filter, h("div", { class: "side" }, live, rights(), themeButton()));
document.getElementById("app").replaceChildren(h("a", { class: "skip", href: "#main", onclick: (e) => (e.preventDefault(), main.focus()) }, "to the content"), header, main, foot, toasts);

function status(text, kind) {
  put(live, text);
  live.className = "live " + kind;
}

// ---- one stream ----------------------------------------------------------------------------------------------------------

let current; // the page that is shown: {title, node, topic, set(frame), filter(text)}
let source;
let timer;
let last = 0;
let dump = null;

function take(frame) {
  last = frame.id;
  status("live", "good");
  const { reading, framing, watchers } = frame.cost;
  put(foot.firstChild, `this page costs ${reading + framing} µs a second, ${watchers} watching`);
  current.set(frame);
}

function stop() {
  source?.close();
  clearTimeout(timer);
  source = timer = undefined;
}

/** Listens from where it left off; where streams do not get through, asks every two seconds. */
function listen() {
  stop();
  if (!current?.topic || document.hidden || dump) return;
  const query = `${current.topic}&since=${last}`;
  source = new EventSource("api/v1/stream?" + query);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) poll(0);
    else status("reconnecting", "bad");
  };
}

async function poll(turn) {
  stop();
  if (turn >= 10) return listen();
  try {
    take(await read(`snapshot?${current.topic}&since=${last}`));
    status("polling", "good");
  } catch (error) {
    status("no answer", "bad");
    if (turn === 0) say(error.message, true);
  }
  timer = setTimeout(() => poll(turn + 1), 2000);
}

document.addEventListener("visibilitychange", () => {
  if (dump) return;
  if (document.hidden) {
    stop();
    status("paused", "");
  } else listen();
});

// ---- pages ---------------------------------------------------------------------------------------------------------------

async function open() {
  const { page, id, name, filter: text } = place();
  stop();
  last = 0;
  const wanted = shown;
  const failed = (error) => ({ title: "Punctual", node: h("p", { class: "empty" }, error.message), set() {}, filter() {} });
  const made = await make(page, id, name).catch(failed);
  // Somebody was faster than the server.
  if (wanted !== shown) return;
  current = made;
  document.title = current.title + " – Punctual";
  tabs.forEach((tab, i) => tab.toggleAttribute("aria-current", PAGES[i] === page || (page === "pool" && i === 0)));
  main.replaceChildren(current.node);
  filter.value = text;
  current.filter(text);
  if (dump) current.set(dump);
  else listen();
}

async function make(page, id, name) {
  if (page === "schedules") return schedulesPage(may);
  if (page === "audit") return auditPage();
  if (page !== "pool") return overviewPage();
  const { poolPage } = await import("./pool.js");
  const pools = (dump ?? (await read("snapshot"))).pools;
  const pool = pools.find((p) => String(p.id) === id && p.name === name) ?? pools.find((p) => p.name === name) ?? pools.find((p) => String(p.id) === id);
  if (!pool) throw new Error("this pool is not shown any more");
  return poolPage(pool, may, dump !== null);
}

let shown;
/** Which page it is, apart from the filter. */
function follow() {
  const { page, id, name, filter: text } = place();
  const next = [page, id, name].join("/");
  if (next === shown) return current?.filter(text);
  shown = next;
  open();
}
addEventListener("hashchange", follow);

filter.addEventListener("input", () => {
  const [path] = location.hash.split("?");
  history.replaceState(null, "", (path || "#/overview") + (filter.value ? "?q=" + encodeURIComponent(filter.value) : ""));
  current?.filter(filter.value);
});

addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape" && event.target === filter) filter.blur();
    return;
  }
  const tab = { o: 0, s: 1, a: 2 }[event.key];
  if (event.key === "/") {
    event.preventDefault();
    filter.focus();
  } else if (tab !== undefined) tabs[tab].click();
});

/** What reads dumps is loaded when there is one. */
async function showDump(json) {
  const { readDump } = await import("./dump.js");
  dump = readDump(json);
  stop();
  may.act = false;
  root.dataset.source = "dump";
  status("dump of " + new Date(dump.time).toLocaleString(), "");
  put(foot.firstChild, "a dump: nothing here changes");
  location.hash = link("pool", dump.pools[0].id, dump.pools[0].name);
  shown = null;
  follow();
}

// The token has done its work: it need not stay in the address.
const address = new URL(location.href);
if (address.searchParams.has("token")) {
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}
if (root.dataset.source === "dump") read("dump").then(showDump).catch((error) => say(error.message, true));
else follow();
