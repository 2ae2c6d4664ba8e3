// Overview, schedules, audit.

import { act, link, read } from "./app.js";
import { badge, badges, button, card, clock, column, count, h, has, meter, moment, name, number, put, span, sparkline, table, tile, wide } from "./dom.js";

/** Rows of a table, those that have the filter's text in one of their fields. */
function listed(view, fields) {
  let [rows, text] = [[], ""];
  const show = () => view.set(rows.filter((row) => has(text, ...fields(row))));
  return {
    set(next) {
      rows = next;
      show();
    },
    filter(next) {
      text = next;
      show();
    },
  };
}

export function stateBadges(pool) {
  const all = [];
  if (pool.stalled >= 5000) all.push(badge("stalled " + span(pool.stalled), "bad"));
  if (pool.paused) all.push(badge("paused", "warn"));
  else if (pool.state !== "running") all.push(badge(pool.state, "warn"));
  else if (!all.length) all.push(badge("running", "good"));
  if (pool.rejected_lately > 0) all.push(badge("rejecting", "bad"));
  return all;
}

export function overviewPage() {
  const tiles = [
    tile("Pools", "tile-pools"),
    tile("Busy workers", "tile-active"),
    tile("Waiting", "tile-queued"),
    tile("Ended per second", "tile-rate"),
    tile("Rejected, last minute", "tile-rejected"),
  ];
  const meterOf = (title, set) => ({
    title,
    node() {
      const it = meter();
      return { node: it.node, set: (pool) => set(it, pool) };
    },
  });
  const spark = () => {
    const line = sparkline();
    return { node: line.node, set: (pool) => line.set(pool.spark ?? []) };
  };
  const pools = table({
    id: "pools",
    key: (pool) => pool.id,
    empty: "no pool is shown here: Dashboard::add shows one",
    columns: [
      { title: "Pool", align: "name", node: (pool) => ({ node: h("a", { href: link("pool", pool.id, pool.name) }, pool.name) }) },
      { title: "State", node: () => badges(stateBadges) },
      meterOf("Threads", (it, p) => it.set(p.active, p.threads, `${p.active} of ${p.threads} busy, ${p.core}–${p.max}`)),
      meterOf("Waiting", (it, p) => it.set(p.queued, p.capacity ?? 0, count(p.queued) + (p.capacity == null ? " (no bound)" : " / " + count(p.capacity)))),
      number("Oldest wait", (p) => span(p.oldest)),
      number("Per second", (p) => count(p.rate)),
      number("Rejected", (p) => count(p.rejected)),
      { title: "Last minute", node: spark },
    ],
  });
  const views = table({
    id: "views",
    key: (view) => view.pool + "/" + view.name,
    columns: [
      name("View", (v) => v.name),
      number("Running", (v) => count(v.active)),
      number("Waiting", (v) => count(v.queued)),
      number("Oldest wait", (v) => span(v.oldest)),
      number("Taken", (v) => count(v.taken)),
    ],
  });
  // Of lanes there may be very many: they are told together.
  const lanes = table({
    id: "lanes",
    key: (set) => set.pool,
    columns: [
      name("Lanes and keys of", (l) => l.name),
      number("Lanes that run", (l) => count(l.running)),
      number("Lanes with a line", (l) => count(l.waiting)),
      number("Oldest in a line", (l) => span(l.oldest)),
    ],
  });
  const moreViews = h("p", { class: "note", "data-testid": "more-views" });
  const viewPart = card("Views", views.node, moreViews);
  const lanePart = card("Lanes", lanes.node);
  const list = listed(pools, (pool) => [pool.name, pool.state, pool.paused ? "paused" : ""]);
  const viewList = listed(views, (view) => [view.name]);
  const laneList = listed(lanes, (set) => [set.name]);
  return {
    title: "Overview",
    topic: "page=overview",
    node: h("div", { "data-testid": "page-overview" }, h("section", { class: "tiles" }, tiles.map((t) => t.node)), card("Pools", pools.node), viewPart, lanePart),
    set({ pools }) {
      const sum = (field) => pools.reduce((total, pool) => total + (pool[field] ?? 0), 0);
      const stalled = pools.filter((pool) => pool.stalled >= 5000).length;
      tiles[0].set(count(pools.length), stalled ? stalled + " stalled" : "all moving", stalled ? "bad" : "");
      tiles[1].set(count(sum("active")), "of " + count(sum("threads")) + " threads");
      const oldest = Math.max(0, ...pools.map((pool) => pool.oldest ?? 0));
      tiles[2].set(count(sum("queued")), oldest ? "oldest " + span(oldest) : "");
      tiles[3].set(count(sum("rate")));
      const lately = sum("rejected_lately");
      tiles[4].set(count(lately), count(sum("rejected")) + " in all", lately ? "bad" : "");
      list.set(pools);
      const all = pools.flatMap((pool) => (pool.views ?? []).map((view) => ({ ...view, pool: pool.id })));
      viewPart.hidden = all.length === 0;
      viewList.set(all);
      const more = sum("more_views");
      put(moreViews, more ? `and ${more} more` : "");
      const sets = pools.filter((pool) => pool.lanes).map((pool) => ({ ...pool.lanes, pool: pool.id, name: pool.name }));
      lanePart.hidden = sets.length === 0;
      laneList.set(sets);
    },
    filter(text) {
      list.filter(text);
      viewList.filter(text);
      laneList.filter(text);
    },
  };
}

const OUTCOMES = { failed: ["failed", "bad"], running: ["running", "good"], none: ["not yet"], succeeded: ["went well", "good"] };

export function schedulesPage(may) {
  const until = (at) => (at == null ? "–" : at <= Date.now() ? "now" : "in " + span(at - Date.now()));
  const took = ({ last, last_completed: end }) => (end >= last ? ", took " + span(end - last) : "");
  const last = (row) => (row.last == null ? "–" : span(Math.max(0, Date.now() - row.last)) + " ago" + took(row));
  const path = (row) => `pools/${row.pool}/schedules/${row.id}`;
  const actions = (row) => {
    const pause = button("", () => act(path(row) + (pause.dataset.paused ? "/resume" : "/pause")), { "data-testid": "pause-schedule" });
    const run = button("Run now", () => act(path(row) + "/run"), { "data-testid": "run-now" });
    const preview = button("Next runs", () => showPreview(row), { "data-testid": "preview" });
    return {
      node: h("span", { class: "actions" }, preview, may.act && [run, pause]),
      set(next) {
        put(pause, next.paused ? "Resume" : "Pause");
        pause.dataset.paused = next.paused ? "yes" : "";
      },
    };
  };
  const rows = table({
    id: "schedules",
    key: (row) => row.pool + "/" + row.id,
    empty: "no pool that is shown has a schedule",
    columns: [
      name("Schedule", (row) => row.name ?? "schedule " + row.id),
      column("Pool", (row) => row.pool_name),
      wide("Plan", (row) => row.plan),
      number("Next", (row) => (row.paused ? "paused" : until(row.next))),
      { title: "Outcome", node: () => badges((row) => [badge(...(OUTCOMES[row.outcome] ?? [row.outcome]))]) },
      wide("Last run", last),
      number("Runs / failed", (row) => `${count(row.runs)} / ${count(row.failures)}`),
      number("Missed / skipped", (row) => `${count(row.missed)} / ${count(row.skipped)}`),
      wide("Last error", (row) => row.error),
      { title: "", node: actions },
    ],
  });
  const dialog = h("dialog", { "data-testid": "preview-dialog" });
  const showPreview = async (row) => {
    const { times, zone } = row.upcoming ? { times: row.upcoming, zone: row.zone } : await read(path(row) + "/upcoming");
    const items = times.map((at) => h("li", {}, h("span", {}, moment(at, zone)), h("small", {}, until(at))));
    dialog.replaceChildren(
      h("h2", {}, row.name ?? row.plan),
      h("p", {}, row.plan, zone ? ` (times on the clocks of ${zone})` : ""),
      times.length ? h("ol", { class: "times" }, items) : h("p", { class: "empty" }, "it will not run again"),
      h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")),
    );
    dialog.showModal();
  };
  const list = listed(rows, (row) => [row.name, row.pool_name, row.plan, row.outcome]);
  const known = new Map();
  return {
    title: "Schedules",
    topic: "page=schedules",
    node: h("div", { "data-testid": "page-schedules" }, card("Schedules", rows.node), dialog),
    /** A first frame has all of them, others those that changed. */
    set({ first, schedules, schedules_gone: gone }) {
      if (first) known.clear();
      for (const row of schedules ?? []) known.set(row.pool + "/" + row.id, row);
      for (const key of gone ?? []) known.delete(key.join("/"));
      const next = (row) => row.next ?? Infinity;
      list.set([...known.values()].sort((one, other) => next(one) - next(other) || one.pool - other.pool || one.id - other.id));
    },
    filter: list.filter,
  };
}

export function auditPage() {
  const rows = table({
    id: "audit",
    key: (row) => row.number,
    empty: "nothing was changed through this page",
    columns: [
      column("When", (row) => clock(row.time)),
      column("From", (row) => row.from),
      name("Action", (row) => row.action),
      column("Pool", (row) => row.pool),
      wide("What", (row) => row.what),
      wide("Outcome", (row) => row.outcome),
      { title: "", node: (row) => ({ node: row.done ? badge("done", "good") : badge("refused", "bad") }) },
    ],
  });
  const refused = h("p", { class: "note", "data-testid": "audit-refused" });
  const known = new Map();
  const list = listed(rows, (row) => [row.action, row.pool, row.what, row.from, row.outcome]);
  return {
    title: "Audit",
    topic: "page=audit",
    node: h("div", { "data-testid": "page-audit" }, card("Audit", rows.node, refused)),
    /** As many as the server keeps. */
    set({ audit }) {
      for (const entry of audit.entries) known.set(entry.number, entry);
      for (const number of [...known.keys()].slice(0, -500)) known.delete(number);
      list.set([...known.values()].reverse());
      put(refused, audit.refused ? `${audit.refused} changes were refused at the door: no token, or from a foreign page` : "");
    },
    filter: list.filter,
  };
}
