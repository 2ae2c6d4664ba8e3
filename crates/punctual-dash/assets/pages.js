// Overview, schedules, audit.

import { act, link, read } from "./app.js";
import { sparkline } from "./charts.js";
import { badge, clock, count, h, meter, moment, put, span, table } from "./dom.js";

const has = (text, ...values) => values.some((value) => String(value ?? "").toLowerCase().includes(text.toLowerCase()));

/** A page whose rows are filtered here. */
function listed(rows, view, fields) {
  let text = "";
  const show = () => view.set(text ? rows.filter((row) => has(text, ...fields(row))) : rows);
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
  const badges = [];
  if (pool.stalled >= 5000) badges.push(badge("stalled " + span(pool.stalled), "bad"));
  if (pool.paused) badges.push(badge("paused", "warn"));
  else if (pool.state !== "running") badges.push(badge(pool.state, "warn"));
  else if (!badges.length) badges.push(badge("running", "good"));
  if (pool.rejected_lately > 0) badges.push(badge("rejecting", "bad"));
  return badges;
}

/** Badges are made anew only when they say something else. */
export function badges(make) {
  const node = h("span", { class: "badges" });
  return {
    node,
    set(row) {
      const next = make(row);
      if (next.map((b) => b.textContent).join() !== [...node.children].map((b) => b.textContent).join()) node.replaceChildren(...next);
    },
  };
}

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

export function overviewPage() {
  const tiles = [tile("Pools", "tile-pools"), tile("Busy workers", "tile-active"), tile("Waiting", "tile-queued"), tile("Ended per second", "tile-rate"), tile("Rejected, last minute", "tile-rejected")];
  const meterCell = (set) => () => {
    const m = meter();
    return { node: m.node, set: (pool) => set(m, pool) };
  };
  const rows = table({
    id: "pools",
    key: (pool) => pool.id,
    empty: "no pool is shown here: Dashboard::add shows one",
    columns: [
      { title: "Pool", align: "name", node: (pool) => ({ node: h("a", { href: link("pool", pool.id, pool.name) }, pool.name) }) },
      { title: "State", node: () => badges(stateBadges) },
      { title: "Threads", node: meterCell((m, p) => m.set(p.active, p.threads, `${p.active} of ${p.threads} busy, ${p.core}–${p.max}`)) },
      { title: "Waiting", node: meterCell((m, p) => m.set(p.queued, p.capacity ?? 0, count(p.queued) + (p.capacity == null ? " (no bound)" : " / " + count(p.capacity)))) },
      { title: "Oldest wait", align: "number", cell: (p) => span(p.oldest) },
      { title: "Per second", align: "number", cell: (p) => count(p.rate) },
      { title: "Rejected", align: "number", cell: (p) => count(p.rejected) },
      {
        title: "Last minute",
        node: () => {
          const spark = sparkline();
          return { node: spark.node, set: (pool) => spark.set(pool.spark ?? []) };
        },
      },
    ],
  });
  const views = table({
    id: "views",
    key: (view) => view.pool + "/" + view.name,
    columns: [
      { title: "View or lane set", align: "name", cell: (v) => v.name },
      { title: "Running", align: "number", cell: (v) => count(v.active) },
      { title: "Waiting", align: "number", cell: (v) => count(v.queued) },
      { title: "Oldest wait", align: "number", cell: (v) => span(v.oldest) },
      { title: "Taken", align: "number", cell: (v) => count(v.taken) },
    ],
  });
  const viewPart = h("section", { class: "card" }, h("h2", {}, "Views"), views.node);
  const list = listed([], rows, (pool) => [pool.name, pool.state, pool.paused ? "paused" : ""]);
  const viewList = listed([], views, (view) => [view.name]);
  return {
    title: "Overview",
    topic: "page=overview",
    node: h("div", { "data-testid": "page-overview" }, h("section", { class: "tiles" }, tiles.map((t) => t.node)), h("section", { class: "card" }, h("h2", {}, "Pools"), rows.node), viewPart),
    set({ pools }) {
      const sum = (field) => pools.reduce((total, pool) => total + (pool[field] ?? 0), 0);
      const [active, threads] = [sum("active"), sum("threads")];
      const stalled = pools.filter((pool) => pool.stalled >= 5000).length;
      tiles[0].set(count(pools.length), stalled ? stalled + " stalled" : "all moving", stalled ? "bad" : "");
      tiles[1].set(count(active), "of " + count(threads) + " threads");
      const oldest = Math.max(0, ...pools.map((pool) => pool.oldest ?? 0));
      tiles[2].set(count(sum("queued")), oldest ? "oldest " + span(oldest) : "");
      tiles[3].set(count(sum("rate")), "");
      const lately = sum("rejected_lately");
      tiles[4].set(count(lately), count(sum("rejected")) + " in all", lately ? "bad" : "");
      list.set(pools);
      const all = pools.flatMap((pool) => pool.views.map((view) => ({ ...view, pool: pool.id })));
      viewPart.hidden = all.length === 0;
      viewList.set(all);
    },
    filter(text) {
      list.filter(text);
      viewList.filter(text);
    },
  };
}

export function schedulesPage(may) {
  const until = (at) => (at == null ? "–" : at - Date.now() <= 0 ? "now" : "in " + span(at - Date.now()));
  const outcome = (row) => {
    if (row.outcome === "failed") return [badge("failed", "bad")];
    if (row.outcome === "running") return [badge("running", "good")];
    return [row.outcome === "none" ? badge("not yet") : badge("went well", "good")];
  };
  const path = (row) => `pools/${row.pool}/schedules/${row.id}`;
  const actions = (row) => {
    const node = h("span", { class: "actions" });
    const paused = h("button", { type: "button" }, "");
    const preview = h("button", { type: "button", "data-testid": "preview", onclick: () => showPreview(row) }, "Next runs");
    node.append(preview);
    if (may.act) {
      node.append(h("button", { type: "button", "data-testid": "run-now", onclick: () => act(path(row) + "/run") }, "Run now"), paused);
      paused.addEventListener("click", () => act(path(row) + (paused.dataset.paused ? "/resume" : "/pause")));
    }
    return {
      node,
      set(next) {
        put(paused, next.paused ? "Resume" : "Pause");
        paused.dataset.paused = next.paused ? "yes" : "";
      },
    };
  };
  const rows = table({
    id: "schedules",
    key: (row) => row.pool + "/" + row.id,
    empty: "no pool that is shown has a schedule",
    columns: [
      { title: "Schedule", align: "name", cell: (row) => row.name ?? "schedule " + row.id },
      { title: "Pool", cell: (row) => row.pool_name },
      { title: "Plan", align: "wide", cell: (row) => row.plan },
      { title: "Next", align: "number", cell: (row) => (row.paused ? "paused" : until(row.next)) },
      { title: "Last", node: () => badges(outcome) },
      { title: "Runs", align: "number", cell: (row) => count(row.runs) },
      { title: "Failed", align: "number", cell: (row) => count(row.failures) },
      { title: "Missed", align: "number", cell: (row) => count(row.missed + row.skipped) },
      { title: "Last error", align: "wide", cell: (row) => row.error ?? "–" },
      { title: "", node: actions },
    ],
  });
  const dialog = h("dialog", { "data-testid": "preview-dialog" });
  const showPreview = async (row) => {
    const { times, zone } = row.upcoming ? { times: row.upcoming } : await read(path(row) + "/upcoming");
    const items = times.map((at) => h("li", {}, h("span", {}, moment(at, zone)), h("small", {}, until(at))));
    dialog.replaceChildren(
      h("h2", {}, row.name ?? row.plan),
      h("p", {}, row.plan, zone ? ` (times on the clocks of ${zone})` : ""),
      times.length ? h("ol", { class: "times" }, items) : h("p", { class: "empty" }, "it will not run again"),
      h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")),
    );
    dialog.showModal();
  };
  const list = listed([], rows, (row) => [row.name, row.pool_name, row.plan, row.outcome]);
  return {
    title: "Schedules",
    topic: "page=schedules",
    node: h("div", { "data-testid": "page-schedules" }, h("section", { class: "card" }, h("h2", {}, "Schedules"), rows.node), dialog),
    set: (frame) => list.set(frame.schedules ?? []),
    filter: list.filter,
  };
}

export function auditPage() {
  const rows = table({
    id: "audit",
    key: (row) => row.number,
    empty: "nothing was changed through this page",
    columns: [
      { title: "When", cell: (row) => clock(row.time) },
      { title: "From", cell: (row) => row.from },
      { title: "Action", align: "name", cell: (row) => row.action },
      { title: "Pool", cell: (row) => row.pool },
      { title: "What", align: "wide", cell: (row) => row.what },
      { title: "Outcome", align: "wide", cell: (row) => row.outcome },
      { title: "", node: (row) => ({ node: row.done ? badge("done", "good") : badge("refused", "bad") }) },
    ],
  });
  const refused = h("p", { class: "note" });
  const list = listed([], rows, (row) => [row.action, row.pool, row.what, row.from, row.outcome]);
  return {
    title: "Audit",
    topic: "page=audit",
    node: h("div", { "data-testid": "page-audit" }, h("section", { class: "card" }, h("h2", {}, "Audit"), rows.node, refused)),
    set({ audit }) {
      list.set([...(audit?.entries ?? [])].reverse());
      put(refused, audit?.refused ? `${audit.refused} changes were refused at the door: no token, or from a foreign page` : "");
    },
    filter: list.filter,
  };
}
