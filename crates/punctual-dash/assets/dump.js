// A dump (what `Control::dump` wrote) as a frame: the same pages show it, without a server.

const MOST_BARS = 3000;
const ms = (seconds) => (seconds == null ? null : seconds * 1000);
const short = (type) => (type ?? "").split("<")[0].split("::").filter((part) => !part.startsWith("{{")).slice(-2).join("::");
const file = (site) => site?.split(/[\/\\]/).pop();
const list = (value) => (Array.isArray(value) ? value : []);

function rejectedTotal(stats) {
  return Object.values(stats.rejected ?? {}).reduce((sum, n) => sum + n, 0);
}

/** Two events make a run; what a task runs inside of itself is part of it. */
function runs(dump, at) {
  const open = new Map();
  const bars = [];
  for (const event of list(dump.events)) {
    if (event.worker == null) continue;
    const key = event.part + "#" + event.worker;
    if (event.kind === "taken") open.set(key, [...(open.get(key) ?? []), event.at]);
    if (event.kind !== "ended") continue;
    const begun = open.get(key) ?? [];
    const begin = begun.pop();
    if (begin == null || begun.length) continue;
    bars.push({ worker: event.worker, part: event.part === dump.name ? "" : event.part, begin: at(begin), end: at(event.at), label: event.name ?? short(event.type), ended: 1, panicked: event.outcome === "panicked" ? 1 : 0 });
  }
  for (const worker of list(dump.workers)) {
    const task = worker.running?.[0];
    if (task) bars.push({ worker: worker.number, part: worker.part === dump.name ? "" : worker.part, begin: at(dump.now) - ms(task.running_for ?? 0), end: at(dump.now), label: task.name ?? short(task.type), ended: 0, panicked: 0, open: true });
  }
  return bars.slice(-MOST_BARS).map((bar, id) => ({ id: id + 1, ...bar }));
}

/** A row a tenth of the time the events cover, counted from them; the levels are only known as they were at the end. */
function history(dump, at, stats) {
  const events = list(dump.events);
  if (events.length < 2) return [];
  const [first, last] = [events[0].at, dump.now];
  const step = Math.max((last - first) / 200, 1e-6);
  // Counted backwards from how it was at the end.
  const rows = [];
  let [queued, active, index] = [stats.queued, stats.active, events.length - 1];
  for (let end = last; end > first; end -= step) {
    const row = [at(end), queued, active, stats.threads, 0, 0, null, null, null, levels(stats).map((level) => [level.queued, level.oldest, 0, 0])];
    for (; index >= 0 && events[index].at > end - step; index--) {
      const { kind, level } = events[index];
      if (kind === "submitted") queued = Math.max(0, queued - 1);
      if (kind === "taken") [queued, active] = [queued + 1, Math.max(0, active - 1)];
      if (kind === "ended") [active, row[4]] = [active + 1, row[4] + 1 / step];
      if (kind === "rejected") row[5]++;
      if (kind === "promoted" && row[9][level]) row[9][level][2]++;
    }
    rows.unshift(row);
  }
  return rows;
}

function levels(stats) {
  return list(stats.levels).map((level) => ({ ...level, oldest: ms(level.oldest_wait), wait_99: ms(level.wait?.p99) }));
}

function task(t, worker) {
  return { id: t.id, name: t.name ?? short(t.type), site: file(t.site), age: ms(t.running_for ?? t.age), level: t.priority, view: t.view, worker, why: t.why, cancelled: false };
}

export function readDump(dump) {
  if (!dump || dump.punctual_dump !== 1) throw new Error("it has no field \"punctual_dump\" with a version this page knows (1)");
  const stats = dump.stats ?? {};
  const time = ms(dump.at);
  const at = (seconds) => time - (dump.now - seconds) * 1000;
  const bars = runs(dump, at);
  const rows = history(dump, at, stats);
  const begin = Math.min(...bars.map((bar) => bar.begin), ...rows.slice(0, 1).map((row) => row[0]), time - 1000);
  const pool = { id: 1, name: String(dump.name), state: String(stats.state ?? "").toLowerCase(), paused: stats.paused, threads: stats.threads, core: stats.core, max: stats.max, active: stats.active, queued: stats.queued, capacity: stats.capacity, oldest: ms(stats.oldest_wait), rate: rows.at(-1)?.[4] ?? 0, rejected: rejectedTotal(stats), rejected_lately: 0, stalled: 0, schedules: stats.schedules, timers: stats.pending_timers, views: list(stats.views).map((view) => ({ ...view, oldest: ms(view.oldest_wait) })), spark: rows.slice(-60).map((row) => row[1]) };
  const schedules = list(dump.schedules).map((s) => ({ ...s, pool: 1, pool_name: pool.name, next: ms(s.upcoming?.[0]?.at), outcome: s.last_error ? "failed" : s.runs ? "succeeded" : "none", error: s.last_error, missed: 0, skipped: 0, upcoming: list(s.upcoming).map((u) => ms(u.at)) }));
  const rejects = list(dump.rejected).map((r) => ({ ...r, time: ms(r.at), task: r.task ?? short(r.type), oldest: ms(r.oldest_wait) }));
  const totals = { ...stats, ...stats.rejected, wait_half: ms(stats.wait?.p50), wait_99: ms(stats.wait?.p99), run_half: ms(stats.run?.p50), run_99: ms(stats.run?.p99) };
  return {
    id: time,
    time,
    first: true,
    span: Math.max(time - begin, 1),
    pools: [pool],
    schedules,
    audit: { entries: [], refused: 0 },
    cost: { reading: 0, framing: 0, watchers: 0 },
    detail: { rows, bars, levels: levels(stats), running: list(dump.workers).flatMap((w) => list(w.running).map((t) => task(t, w.number))), queued: list(dump.queued).map((t) => task(t)), rejects, totals, records: dump.records, advice: dump.advice, lints: list(dump.lints), settings: dump.settings },
  };
}
