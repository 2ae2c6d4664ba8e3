// One pool: figures, charts, workers, levels, tasks and why they wait, rejects, advice, and what can be done about it.

import { act, link, read } from "./app.js";
import { levelChart, lineChart, workerChart } from "./charts.js";
import { badges, stateBadges, tile } from "./pages.js";
import { badge, clock, count, h, put, span, sureButton, table } from "./dom.js";

const MINUTE = 60000;
const LEVELS = ["urgent", "high", "normal", "low"];
const levelName = (level, levels) => (levels === 4 ? LEVELS[level] : "level " + level);

export function poolPage(pool, may, isDump) {
  const path = "pools/" + pool.id;
  let [rows, bars, filter, span_ms] = [[], new Map(), "", 5 * MINUTE];
  let frame = null;
  let long = null; // rows of a longer time than the stream brings
  let levels = 0;
  let rejected = [];

  const marks = badges(stateBadges);
  const tiles = [tile("Busy workers", "pool-active"), tile("Waiting", "pool-queued"), tile("Oldest wait", "pool-oldest"), tile("Wait, p99", "pool-wait"), tile("Run time, p99", "pool-run"), tile("Ended per second", "pool-rate"), tile("Rejected", "pool-rejected")];
  const charts = [
    lineChart({ id: "queue", title: "Waiting tasks", whole: true, format: count, series: [{ label: "waiting", kind: "area", value: (r) => r[1] }] }),
    lineChart({ id: "threads", title: "Workers", whole: true, format: count, series: [{ label: "busy", kind: "area", value: (r) => r[2] }, { label: "alive", value: (r) => r[3] }, { label: "max", kind: "limit", value: () => frame?.pools[0]?.max ?? pool.max }] }),
    lineChart({ id: "wait", title: "Wait of tasks that started", format: span, series: [{ label: "p50", value: (r) => r[7] }, { label: "p99", value: (r) => r[8] }] }),
    lineChart({ id: "rate", title: "Ended per second", whole: true, format: count, series: [{ label: "ended", kind: "area", value: (r) => r[4] }, { label: "rejected", value: (r) => r[5] }] }),
  ];
  const workers = workerChart();
  const workerNote = h("p", { class: "note" });
  const bands = levelChart(levelName, span);
  const bandPart = h("section", { class: "card", hidden: true }, h("h2", {}, "Who waits how long"), h("p", { class: "note" }, "Oldest wait of each level; a triangle marks where waiting lifted a task above a more urgent one."), bands.node);

  const ranges = [["5 min", 5], ["15 min", 15], ["1 h", 60]].map(([text, minutes]) => h("button", { type: "button", "aria-pressed": minutes === 5 ? "true" : "false", onclick: (event) => choose(minutes, event.target) }, text));
  async function choose(minutes, button) {
    ranges.forEach((range) => range.setAttribute("aria-pressed", range === button ? "true" : "false"));
    span_ms = minutes * MINUTE;
    long = minutes > 5 && !isDump ? (await read(`${path}/history?seconds=${minutes * 60}`)).rows : null;
    draw();
  }

  // ---- tasks ---------------------------------------------------------------------------------------------------------
  const name = { title: "Task", align: "name", cell: (t) => t.name || "(no name)" };
  const site = { title: "Submitted at", cell: (t) => t.site ?? "–" };
  const buttons = (make) => (may.act ? [{ title: "", node: (t) => ({ node: h("span", { class: "actions" }, t.id == null ? [] : make(t)) }) }] : []);
  const cancel = (t) => sureButton("Cancel", () => act(`${path}/tasks/${t.id}/cancel`), { "data-testid": "cancel" });
  const key = (t) => t.id ?? t.name + "#" + t.worker;
  const running = table({
    id: "running",
    key,
    empty: "no worker is busy",
    columns: [name, { title: "Worker", align: "number", cell: (t) => (t.worker == null ? "–" : "#" + t.worker) }, { title: "For at least", align: "number", cell: (t) => span(t.age) }, site, { title: "View", cell: (t) => t.view ?? "–" }, { title: "", node: () => badges((t) => (t.cancelled ? [badge("asked to stop", "warn")] : [])) }, ...buttons((t) => [cancel(t)])],
  });
  const queued = table({
    id: "queued",
    key,
    empty: "no task with a handle or a name waits",
    columns: [name, { title: "Waits", align: "number", cell: (t) => span(t.age) }, { title: "Level", align: "number", cell: (t) => (t.level == null ? "–" : levelName(t.level, levels)) }, { title: "Why it waits", align: "wide", cell: (t) => t.why ?? "–" }, site, ...buttons((t) => [h("button", { type: "button", "data-testid": "run-next", onclick: () => act(`${path}/tasks/${t.id}/run-next`) }, "Run next"), cancel(t)])],
  });
  const more = h("button", { type: "button", "aria-pressed": "false", onclick: () => (more.setAttribute("aria-pressed", more.getAttribute("aria-pressed") === "true" ? "false" : "true"), tasks()) }, "Show more");
  /** With a filter, or where more are wanted, the whole lists are asked for. */
  async function tasks() {
    const wants = filter || more.getAttribute("aria-pressed") === "true";
    const has = (t) => !filter || [t.name, t.site, t.view].some((text) => (text ?? "").toLowerCase().includes(filter.toLowerCase()));
    const { running: runs, queued: waits } = wants && !isDump ? await read(`${path}/tasks?most=200&filter=${encodeURIComponent(filter)}`).catch(() => frame.detail) : frame.detail;
    running.set(runs.filter(has));
    queued.set(waits.filter(has));
  }

  // ---- rejects, levels, advice ---------------------------------------------------------------------------------------
  const rejects = table({
    id: "rejects",
    key: (r) => r.number,
    empty: "nothing was rejected",
    columns: [{ title: "When", cell: (r) => clock(r.time) }, { title: "Task", align: "name", cell: (r) => (r.task || "–") + (r.like_it ? ` and ${count(r.like_it)} more` : "") }, { title: "Reason", align: "wide", cell: (r) => r.reason }, { title: "What became of it", cell: (r) => r.answer.replace("_", " ") }, { title: "Level", align: "number", cell: (r) => (r.level == null ? "–" : levelName(r.level, levels)) }, { title: "Waiting then", align: "number", cell: (r) => count(r.queued) + (r.capacity == null ? "" : " / " + count(r.capacity)) }, { title: "Busy then", align: "number", cell: (r) => `${r.active} of ${r.threads}, max ${r.max}` }, { title: "Oldest then", align: "number", cell: (r) => span(r.oldest) }],
  });
  const levelTable = table({
    id: "levels",
    key: (l) => l.index,
    columns: [{ title: "Level", align: "name", cell: (l) => levelName(l.index, levels) }, { title: "Waiting", align: "number", cell: (l) => count(l.queued) }, { title: "Oldest", align: "number", cell: (l) => span(l.oldest) }, { title: "Taken", align: "number", cell: (l) => count(l.taken) }, { title: "Lifted by waiting", align: "number", cell: (l) => count(l.promoted) }, { title: "Share got / want", align: "number", cell: (l) => (l.share_target == null ? "–" : `${Math.round((l.share_actual ?? 0) * 100)} / ${Math.round(l.share_target * 100)} %`) }, { title: "Wait p99", align: "number", cell: (l) => span(l.wait_99) }],
  });
  bandPart.append(levelTable.node);
  const advice = h("pre", { class: "advice", "data-testid": "advice" });
  const lints = h("ul", { class: "lints", "data-testid": "lints" });
  const totals = h("dl", { class: "totals" });
  const cost = h("p", { class: "note", "data-testid": "task-cost" });

  // ---- what can be done ----------------------------------------------------------------------------------------------
  const pause = h("button", { type: "button", "data-testid": "pause", onclick: () => act(path + (pause.dataset.paused ? "/resume" : "/pause")) }, "Pause");
  const dialog = resizeDialog(path, () => frame?.pools[0] ?? pool);
  const actions = h("div", { class: "actions" });
  if (may.act) actions.append(pause, h("button", { type: "button", "data-testid": "resize", onclick: dialog.show }, "Resize"));
  if (!isDump) actions.append(h("a", { class: "button", href: `api/v1/${path}/dump`, download: "", "data-testid": "dump" }, "Dump"));

  const head = h("div", { class: "page-head" }, h("div", {}, h("a", { class: "back", href: link("overview") }, "Overview"), h("h1", { "data-testid": "pool-name" }, pool.name)), marks.node, actions);
  const card = (title, ...content) => h("section", { class: "card" }, h("h2", {}, title), ...content);
  const node = h(
    "div",
    { "data-testid": "page-pool" },
    head,
    h("section", { class: "tiles" }, tiles.map((t) => t.node)),
    h("div", { class: "bar-row" }, h("div", { class: "range", role: "group", "aria-label": "time shown" }, ranges)),
    h("section", { class: "charts" }, charts.map((chart) => h("div", { class: "card" }, chart.node))),
    card(isDump ? "Workers" : "Workers, last minute", workerNote, workers.node),
    bandPart,
    card("Running", running.node),
    h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Waiting, in the order they would be taken"), more), queued.node),
    card("Last rejects", rejects.node),
    h("section", { class: "two" }, card("Advice", advice, lints), card("Since it began", totals, cost)),
    dialog.node,
  );

  /** Open bars are of what runs now: they come anew each time. */
  function takeBars(news, next) {
    for (const [id, bar] of bars) if (bar.open || (!isDump && bar.end < next.id - MINUTE)) bars.delete(id);
    const named = (b) => (Array.isArray(b) ? { id: b[0] || `open ${b[1]} ${b[2]}`, worker: b[1], part: b[2], begin: b[3], end: b[4], label: b[5], ended: b[6], panicked: b[7], open: b[8] } : b);
    for (const bar of news.map(named)) bars.set(bar.id, bar);
  }

  function takeRejects(news) {
    const known = new Set(rejected.map((r) => r.time));
    rejected = [...news.filter((r) => !known.has(r.time)).reverse(), ...rejected].slice(0, 100);
    rejects.set(rejected.map((r) => ({ ...r, number: r.time })));
  }

  function draw() {
    const shown = long ? [...long, ...rows.filter((row) => row[0] > (long.at(-1)?.[0] ?? 0))] : rows;
    charts.forEach((chart) => chart.set(shown, span_ms));
    if (levels > 1) bands.set(shown, span_ms);
    const end = frame?.id || Date.now();
    workers.set([...bars.values()], end, frame?.span ?? MINUTE);
  }

  return {
    title: pool.name,
    topic: "page=pool&pool=" + pool.id,
    node,
    redraw: draw,
    set(next) {
      frame = next;
      const row = next.pools[0];
      if (!row) return;
      marks.set(row);
      put(pause, row.paused ? "Resume" : "Pause");
      pause.dataset.paused = row.paused ? "yes" : "";
      const detail = next.detail;
      if (!detail) return;
      const known = rows.at(-1)?.[0] ?? 0;
      rows = [...rows, ...detail.rows.filter((r) => r[0] > known)].slice(-3600);
      takeBars(detail.bars, next);
      takeRejects(detail.rejects);
      put(workerNote, detail.records ? "Each bar is a task, or several of one kind." : "Seen once a second. With a recorder (PoolBuilder::recorder) each task has its bar.");
      levels = detail.levels.length;
      bandPart.hidden = levels < 2;
      const { totals: t } = detail;
      tiles[0].set(`${row.active} / ${row.threads}`, `core ${row.core}, max ${row.max}`, row.active >= row.max ? "warn" : "");
      tiles[1].set(count(row.queued), row.capacity == null ? "no bound" : "of " + count(row.capacity), row.capacity && row.queued >= row.capacity ? "bad" : "");
      tiles[2].set(span(row.oldest), "");
      const now = rows.at(-1);
      tiles[3].set(span(now?.[8]), "p50 " + span(now?.[7]));
      tiles[4].set(span(t.run_99), "p50 " + span(t.run_half));
      tiles[5].set(count(row.rate), "");
      tiles[6].set(count(row.rejected), count(row.rejected_lately) + " in a minute", row.rejected_lately ? "bad" : "");
      levelTable.set(detail.levels.map((level, index) => ({ ...level, index })));
      put(advice, detail.advice || "not enough tasks yet to say anything");
      if (lints.childElementCount !== detail.lints.length) lints.replaceChildren(...detail.lints.map((lint) => h("li", {}, badge(lint.code, "warn"), " ", lint.text)));
      showTotals(totals, t);
      const { statistics, recorder } = next.cost;
      if (statistics) put(cost, `Counting costs a task at most ${statistics} ns` + (detail.records ? `, the recorder at most ${recorder} ns.` : "; there is no recorder."));
      tasks();
      draw();
    },
    filter(text) {
      filter = text;
      if (frame?.detail) tasks();
    },
  };
}

const TOTALS = { submitted: "accepted", finished: "finished", panicked: "panicked", cancelled: "cancelled", expired: "expired", evicted: "evicted", returned: "returned", full: "refused: full", shutdown: "refused: shut down", caller_ran: "run by the caller", discarded: "discarded", largest: "most threads", largest_since_resize: "most since resized", spare: "spare threads", suspended: "suspended futures", steals: "steals", parks: "sleeps of workers" };

function showTotals(list, totals) {
  if (!list.childElementCount) list.append(...Object.entries(TOTALS).map(([key, text]) => h("div", {}, h("dt", {}, text), h("dd", { "data-testid": "total-" + key }))));
  Object.keys(TOTALS).forEach((key, index) => put(list.children[index].lastChild, count(totals[key])));
}

/** Two numbers, what they would do, and a way back. */
function resizeDialog(path, row) {
  const field = (id) => h("input", { type: "number", min: id === "max" ? 1 : 0, max: 65536, required: true, id: "resize-" + id, "data-testid": "resize-" + id });
  const [core, max] = [field("core"), field("max")];
  const preview = h("p", { class: "note", "data-testid": "resize-preview", role: "status" });
  const apply = h("button", { type: "submit", class: "primary", "data-testid": "resize-apply" }, "Apply");
  let timer;
  const look = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        const { possible, text } = await read(`${path}/preview?core=${Number(core.value)}&max=${Number(max.value)}`);
        put(preview, text);
        apply.disabled = !possible;
      } catch (error) {
        put(preview, error.message);
        apply.disabled = true;
      }
    }, 150);
  };
  [core, max].forEach((input) => input.addEventListener("input", look));
  const form = h("form", { method: "dialog" }, h("h2", {}, "Resize"), h("div", { class: "fields" }, h("label", { for: "resize-core" }, "Core threads", core), h("label", { for: "resize-max" }, "Max threads", max)), preview, h("div", { class: "actions" }, h("button", { type: "button", onclick: () => node.close() }, "Close"), apply));
  const node = h("dialog", { "data-testid": "resize-dialog" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await act(path + "/resize", { core: Number(core.value), max: Number(max.value) }, true)) node.close();
  });
  return {
    node,
    show() {
      const now = row();
      [core.value, max.value] = [now.core, now.max];
      node.showModal();
      look();
    },
  };
}
