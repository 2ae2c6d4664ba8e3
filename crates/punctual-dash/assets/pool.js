// One pool: figures, charts, workers, levels, tasks and why they wait, rejects, advice, and what can be done about it.

import { act, link, read } from "./app.js";
import { levelChart, lineChart, workerChart } from "./charts.js";
import { stateBadges } from "./pages.js";
import { badge, badges, button, card, clock, column, count, h, has, name, number, put, span, sureButton, table, tile, wide } from "./dom.js";

const MINUTE = 60000;
const LEVELS = ["urgent", "high", "normal", "low"];
const levelName = (level, levels) => (levels === 4 ? LEVELS[level] : "level " + level);

const taskName = name("Task", (t) => t.name || "(no name)");
const site = column("Submitted at", (t) => t.site);

/** A text that is the one of the row before is not sent again. */
const filledDown = (rows, field) => rows.reduce((all, row) => [...all, { ...row, [field]: row[field] ?? all.at(-1)?.[field] }], []);

export function poolPage(pool, may, isDump) {
  const path = "pools/" + pool.id;
  let [rows, bars, filter, span_ms] = [[], new Map(), "", 5 * MINUTE];
  let frame = null;
  let long = null; // rows of a longer time than the stream brings
  let levels = 0;
  let lastBar = 0; // the highest number among the bars
  let counted = 0; // rejects, when their list was last asked for
  let wasNew = false; // whether it was new then: one is listed a moment after it is counted
  let advised; // the key of the advice that is shown

  const marks = badges(stateBadges);
  const level = number("Level", (t) => (t.level == null ? "–" : levelName(t.level, levels)));
  const tiles = [
    tile("Busy workers", "pool-active"),
    tile("Waiting", "pool-queued"),
    tile("Oldest wait", "pool-oldest"),
    tile("Wait, p99", "pool-wait"),
    tile("Run time, p99", "pool-run"),
    tile("Ended per second", "pool-rate"),
    tile("Rejected", "pool-rejected"),
  ];
  const chart = (id, title, format, ...series) =>
    lineChart({ id, title, format, whole: format === count, series: series.map(([label, value, kind]) => ({ label, value, kind })) });
  const charts = [
    chart("queue", "Waiting tasks", count, ["waiting", (r) => r[1], "area"]),
    chart("threads", "Workers", count, ["busy", (r) => r[2], "area"], ["alive", (r) => r[3]], ["max", () => (frame?.pools[0] ?? pool).max, "limit"]),
    chart("wait", "Wait of tasks that started", span, ["p50", (r) => r[7]], ["p99", (r) => r[8]]),
    chart("rate", "Ended per second", count, ["ended", (r) => r[4], "area"], ["rejected", (r) => r[5]]),
  ];
  const workers = workerChart();
  const workerNote = h("p", { class: "note" });
  const served = ({ from, to }) => (isDump ? frame.detail.served(from, to) : read(`${path}/served?from=${from}&to=${to}`));
  const instead = servedPart(level, (number) => levelName(number, levels), () => bands.clear());
  const bands = levelChart(levelName, span, (stretch) => instead.show(stretch, served));
  const bandNote = "Oldest wait of each level; a triangle marks where waiting lifted a task above a more urgent one. Click where one waits (or arrow keys and Enter) to see what was served instead.";
  const bandPart = card("Who waits how long", h("p", { class: "note" }, bandNote), bands.node, instead.node);
  bandPart.hidden = true;

  const ranges = [["5 min", 5], ["15 min", 15], ["1 h", 60]].map(([text, minutes]) => button(text, (event) => choose(minutes, event.target), { "aria-pressed": String(minutes === 5) }));
  async function choose(minutes, chosen) {
    ranges.forEach((range) => range.setAttribute("aria-pressed", String(range === chosen)));
    span_ms = minutes * MINUTE;
    long = minutes > 5 && !isDump ? (await read(`${path}/history?seconds=${minutes * 60}`)).rows : null;
    draw();
  }

  // ---- tasks ---------------------------------------------------------------------------------------------------------
  const buttons = (make) => (may.act ? [{ title: "", node: (t) => ({ node: h("span", { class: "actions" }, t.id == null ? [] : make(t)) }) }] : []);
  const cancel = (t) => sureButton("Cancel", () => act(`${path}/tasks/${t.id}/cancel`), { "data-testid": "cancel" });
  const runNext = (t) => button("Run next", () => act(`${path}/tasks/${t.id}/run-next`), { "data-testid": "run-next" });
  const key = (t) => t.id ?? t.name + "#" + t.worker;
  const running = table({
    id: "running",
    key,
    empty: "no worker is busy",
    columns: [
      taskName,
      number("Worker", (t) => (t.worker == null ? "–" : "#" + t.worker)),
      number("For at least", (t) => span(t.age)),
      site,
      column("View", (t) => t.view),
      { title: "", node: () => badges((t) => (t.cancelled ? [badge("asked to stop", "warn")] : [])) },
      ...buttons((t) => [cancel(t)]),
    ],
  });
  const queued = table({
    id: "queued",
    key,
    empty: "no task with a handle or a name waits",
    columns: [taskName, number("Waits", (t) => span(t.age)), level, wide("Why it waits", (t) => t.why), site, ...buttons((t) => [runNext(t), cancel(t)])],
  });
  const deques = h("p", { class: "note", "data-testid": "deques" });
  let wantsMore = false;
  const showMore = () => {
    wantsMore = !wantsMore;
    more.setAttribute("aria-pressed", String(wantsMore));
    tasks();
  };
  const more = button("Show more", showMore, { "aria-pressed": "false" });
  /** With a filter, or where more are wanted, the whole lists are asked for. */
  async function tasks() {
    const asks = (filter || wantsMore) && !isDump;
    const lists = asks ? await read(`${path}/tasks?most=200&filter=${encodeURIComponent(filter)}`).catch(() => frame.detail) : frame.detail;
    const isWanted = (t) => has(filter, t.name, t.site, t.view);
    running.set(lists.running.filter(isWanted));
    queued.set(filledDown(lists.queued, "why").filter(isWanted));
  }

  // ---- rejects, levels, advice ---------------------------------------------------------------------------------------
  const rejects = table({
    id: "rejects",
    key: (r) => r.number,
    empty: "nothing was rejected",
    columns: [
      column("When", (r) => clock(r.time)),
      name("Task", (r) => (r.task || "–") + (r.like_it ? ` and ${count(r.like_it)} more` : "")),
      wide("Reason", (r) => r.reason),
      site,
      column("What became of it", (r) => r.answer.replace("_", " ")),
      level,
      number("Waiting then", (r) => count(r.queued) + (r.capacity == null ? "" : " / " + count(r.capacity))),
      number("Busy then", (r) => `${r.active} of ${r.threads}, max ${r.max}`),
      number("Oldest then", (r) => span(r.oldest)),
    ],
  });
  const percent = (part) => Math.round((part ?? 0) * 100);
  const levelTable = table({
    id: "levels",
    key: (l) => l.level,
    columns: [
      name("Level", (l) => levelName(l.level, levels)),
      number("Waiting", (l) => count(l.queued)),
      number("Oldest", (l) => span(l.oldest)),
      number("Taken", (l) => count(l.taken)),
      number("Lifted by waiting", (l) => count(l.promoted ?? 0)),
      number("Expired / evicted", (l) => `${count(l.expired ?? 0)} / ${count(l.evicted ?? 0)}`),
      number("Share got / wanted", (l) => (l.share_target == null ? "–" : `${percent(l.share_lately)} / ${percent(l.share_target)} %`)),
      number("Wait p99", (l) => span(l.wait_99)),
    ],
  });
  bandPart.append(levelTable.node);
  const advice = h("pre", { class: "advice", "data-testid": "advice" });
  const lints = h("ul", { class: "lints", "data-testid": "lints" });
  const totals = h("dl", { class: "totals" });
  const cost = h("p", { class: "note", "data-testid": "task-cost" });

  // ---- what can be done ----------------------------------------------------------------------------------------------
  const pause = button("Pause", () => act(path + (pause.dataset.paused ? "/resume" : "/pause")), { "data-testid": "pause" });
  const dialog = resizeDialog(path, () => frame?.pools[0] ?? pool);
  const actions = h(
    "div",
    { class: "actions" },
    may.act && [pause, button("Resize", dialog.show, { "data-testid": "resize" })],
    !isDump && h("a", { class: "button", href: `api/v1/${path}/dump`, download: "", "data-testid": "dump" }, "Dump"),
  );
  const title = h("div", {}, h("a", { class: "back", href: link("overview") }, "Overview"), h("h1", { "data-testid": "pool-name" }, pool.name));
  const node = h(
    "div",
    { "data-testid": "page-pool" },
    h("div", { class: "page-head" }, title, marks.node, actions),
    h("section", { class: "tiles" }, tiles.map((t) => t.node)),
    h("div", { class: "bar-row" }, h("div", { class: "range", role: "group", "aria-label": "time shown" }, ranges)),
    h("section", { class: "charts" }, charts.map((chart) => h("div", { class: "card" }, chart.node))),
    card(isDump ? "Workers" : "Workers, last minute", workerNote, workers.node),
    bandPart,
    card("Running", running.node),
    h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Waiting, in the order they would be taken"), more), deques, queued.node),
    card("Last rejects", rejects.node),
    h("section", { class: "two" }, card("Advice", advice, lints), card("Since it began", totals, cost)),
    dialog.node,
  );

  /** Open bars are of what runs now: they come anew each time. Where a frame has no room for all, they are asked for. */
  async function takeBars(detail, now) {
    const { bars: news, bars_at: at } = detail.bars_cut ? await read(`${path}/bars?since=${lastBar}`).catch(() => detail) : detail;
    for (const [id, bar] of bars) if (bar.open || (!isDump && bar.end < now - MINUTE)) bars.delete(id);
    const named = (b) => {
      if (!Array.isArray(b)) return b;
      const [number, worker, begin, end, label, ended = 1, panicked = 0, part = ""] = b;
      return { id: number || `open ${worker} ${part}`, worker, part, begin: at - begin, end: at - end, label, ended, panicked, open: !number };
    };
    for (const bar of news.map(named)) bars.set(bar.id, bar);
    for (const bar of news) if (bar[0] > lastBar) lastBar = bar[0];
    if (detail.bars_cut) draw();
  }

  /** A first frame has the list; after that it is asked for when there are more of them. */
  async function takeRejects(list, total) {
    const isNew = total !== counted;
    const asks = !list && (isNew || wasNew);
    [counted, wasNew] = [total, !list && isNew];
    const shown = asks ? (await read(path + "/rejects").catch(() => ({}))).rejects : list;
    if (shown) rejects.set(shown.map((row, index) => ({ ...row, number: row.time + "/" + index })).reverse());
  }

  /** The same of the advice, when it says something else. */
  async function takeAdvice(detail) {
    if (detail.advice_key === advised && detail.advice == null) return;
    const { advice: text, lints: all, advice_key: key } = detail.advice == null ? await read(path + "/advice").catch(() => ({})) : detail;
    if (!all) return;
    advised = key;
    put(advice, text || "not enough tasks yet to say anything");
    lints.replaceChildren(...all.map((lint) => h("li", {}, badge(lint.code, "warn"), " ", lint.text)));
  }

  function draw() {
    const shown = long ? [...long, ...rows.filter((row) => row[0] > (long.at(-1)?.[0] ?? 0))] : rows;
    charts.forEach((chart) => chart.set(shown, span_ms));
    if (levels > 1) bands.set(shown, span_ms);
    if (frame) workers.set([...bars.values()], frame.id, frame.span ?? MINUTE);
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
      // A first frame has them all, perhaps of another server that counts anew.
      if (next.first) [bars, lastBar] = [new Map(), 0];
      takeBars(detail, next.id);
      takeRejects(detail.rejects, row.rejected);
      takeAdvice(detail);
      put(workerNote, detail.records ? "Each bar is a task, or several of one kind." : "Seen once a second. With a recorder (PoolBuilder::recorder) each task has its bar.");
      levels = detail.levels.length;
      bandPart.hidden = levels < 2;
      const { totals: t } = detail;
      tiles[0].set(`${row.active} / ${row.threads}`, `core ${row.core}, max ${row.max}`, row.active >= row.max ? "warn" : "");
      tiles[1].set(count(row.queued), row.capacity == null ? "no bound" : "of " + count(row.capacity), row.capacity && row.queued >= row.capacity ? "bad" : "");
      tiles[2].set(span(row.oldest));
      const now = rows.at(-1);
      tiles[3].set(span(now?.[8]), "p50 " + span(now?.[7]));
      tiles[4].set(span(t.run_99), "p50 " + span(t.run_half));
      tiles[5].set(count(row.rate));
      tiles[6].set(count(row.rejected), count(row.rejected_lately) + " in a minute", row.rejected_lately ? "bad" : "");
      levelTable.set(detail.levels.map((row, level) => ({ ...row, level })));
      showTotals(totals, { ...t, timers: row.timers, schedules: row.schedules });
      const { statistics, recorder } = next.cost;
      if (statistics != null) put(cost, `Measured here: counting and timing take ${statistics} ns for each task` + (recorder != null ? `, the recorder ${recorder} ns.` : "; there is no recorder."));
      put(deques, t.queued_local ? `${count(t.queued_local)} more wait in the deques of workers, which take from them without a lock: these are counted, not listed.` : "");
      tasks();
      draw();
    },
    filter(text) {
      filter = text;
      if (frame?.detail) tasks();
    },
  };
}

const TOTALS = {
  submitted: "accepted",
  finished: "finished",
  panicked: "panicked",
  cancelled: "cancelled",
  expired: "expired",
  evicted: "evicted",
  returned: "returned",
  full: "refused: full",
  shutdown: "refused: shut down",
  no_thread: "refused: no thread",
  would_deadlock: "refused: would wait for itself",
  caller_ran: "run by the caller",
  discarded: "discarded",
  largest: "most threads",
  largest_since_resize: "most since resized",
  spare: "spare threads",
  suspended: "suspended futures",
  timers: "delayed, not due",
  schedules: "schedules",
  steals: "steals",
  parks: "sleeps of workers",
  spurious: "called in vain",
};

function showTotals(list, totals) {
  if (!list.childElementCount) list.append(...Object.entries(TOTALS).map(([key, text]) => h("div", {}, h("dt", {}, text), h("dd", { "data-testid": "total-" + key }))));
  Object.keys(TOTALS).forEach((key, index) => put(list.children[index].lastChild, count(totals[key] ?? 0)));
}

/** What was served while a level waited. */
function servedPart(level, levelName, close) {
  const title = h("h3");
  const taken = h("p");
  const note = h("p", { class: "note" });
  const tasks = table({
    id: "served-tasks",
    key: (t) => t.level + "/" + t.name,
    empty: "no task is known",
    columns: [taskName, level, number("Runs", (t) => count(t.runs)), number("Time on workers", (t) => span(t.took))],
  });
  const end = () => {
    node.hidden = true;
    close();
  };
  const head = h("div", { class: "card-head" }, title, button("Close", end));
  const node = h("div", { class: "served", hidden: true, role: "status", "data-testid": "served" }, head, taken, tasks.node, note);
  return {
    node,
    async show(stretch, ask) {
      node.hidden = false;
      const name = levelName(stretch.level);
      tasks.node.hidden = true;
      put(taken, "");
      put(note, "");
      if (stretch.oldest == null) return put(title, `No task of level ${name} waited then`);
      put(title, `${name} waited from ${clock(stretch.from)} to ${clock(stretch.to)}, up to ${span(stretch.oldest)}. Served instead:`);
      try {
        const { levels, tasks: rows, records, cut, more } = await ask(stretch);
        put(taken, levels.length ? "Taken meanwhile: " + levels.map((n, level) => `${levelName(level)} ${count(n)}`).join(", ") : "");
        tasks.node.hidden = !records;
        tasks.set(rows);
        if (!records) put(note, "Which tasks these were is not known: the pool has no recorder (PoolBuilder::recorder).");
        else put(note, (cut ? "The recorder no longer has the beginning. " : "") + (more ? `${more} more kinds of tasks.` : ""));
      } catch (error) {
        put(note, error.message);
      }
    },
  };
}

/** Two numbers, what they would do, and a way back. */
function resizeDialog(path, row) {
  const field = (id) => h("input", { type: "number", min: id === "max" ? 1 : 0, max: 65536, required: true, "data-testid": "resize-" + id });
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
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", {}, "Resize"),
    h("div", { class: "fields" }, h("label", {}, "Core threads", core), h("label", {}, "Max threads", max)),
    preview,
    h("div", { class: "actions" }, button("Close", () => node.close()), apply),
  );
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
