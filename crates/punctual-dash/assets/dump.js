// A dump (what `Control::dump` wrote) as a frame: the same pages show it, without a server.

const MOST_BARS = 3000;
const ms = (seconds) => (seconds == null ? null : seconds * 1000);
const short = (type) => (type ?? "").split("<")[0].split("::").filter((part) => !part.startsWith("{{")).slice(-2).join("::");
const list = (value) => (Array.isArray(value) ? value : []);

/** Two events make a run; what runs now has no second one. `isInner`: a task ran it inside of itself. */
function runs(dump, at) {
  const open = new Map();
  const all = [];
  const part = (name) => (name === dump.name ? "" : name);
  for (const event of list(dump.events)) {
    if (event.worker == null) continue;
    const key = event.part + "#" + event.worker;
    if (!open.has(key)) open.set(key, []);
    const begun = open.get(key);
    if (event.kind === "taken") begun.push(at(event.at));
    const begin = event.kind === "ended" ? begun.pop() : null;
    if (begin == null) continue;
    all.push({ worker: event.worker, part: part(event.part), begin, end: at(event.at), label: event.name ?? short(event.type), level: event.level, isInner: begun.length > 0, ended: 1, panicked: event.outcome === "panicked" ? 1 : 0 });
  }
  for (const { number: worker, part: name, running } of list(dump.workers)) {
    const [task] = list(running);
    const end = at(dump.now);
    if (task) all.push({ worker, part: part(name), begin: end - ms(task.running_for ?? 0), end, label: task.name ?? short(task.type), level: task.priority, ended: 0, panicked: 0, open: true });
  }
  return all;
}

/**
 * Who waited from when to when, by level: a submission and the taking of the same task. What was taken and had come before the
 * first event waited at least since then; what was submitted and never taken waits still, as far as so many do. (What was
 * cancelled while it waited leaves no event. Of a delayed task the wait begins with its submission: when it came due is not told.)
 */
function waits(dump, stats) {
  const events = list(dump.events);
  const first = events[0]?.at ?? dump.now;
  const all = [];
  const open = new Map(); // by level: what was submitted and not taken
  const line = (level) => open.get(level) ?? open.set(level, []).get(level);
  for (const { kind, level = null, task, at } of events) {
    if (kind === "submitted") line(level).push({ level, task, from: at });
    if (kind !== "taken") continue;
    const waiting = line(level);
    const index = task == null ? waiting.findIndex((wait) => wait.task == null) : waiting.findIndex((wait) => wait.task === task);
    const [wait] = index < 0 ? [{ level, from: first, isCut: true }] : waiting.splice(index, 1);
    all.push({ ...wait, to: at });
  }
  const still = (level, { queued, oldest_wait: oldest }) => {
    const rest = line(level).slice(queued ? -queued : Infinity);
    if (queued > rest.length) rest.push({ level, from: dump.now - (oldest ?? 0) });
    all.push(...rest.map((wait) => ({ ...wait, to: Infinity })));
  };
  if (list(stats.levels).length) stats.levels.forEach((level, number) => still(number, level));
  else still(null, stats);
  return all;
}

/** The smallest that so large a part of them does not exceed. */
const quantile = (sorted, part) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null;

/** A row for each two-hundredth of the time the events cover, counted from them. */
function history(dump, at, stats) {
  const events = list(dump.events);
  if (events.length < 2) return [];
  const [first, last] = [events[0].at, dump.now];
  const step = Math.max((last - first) / 200, 1e-6);
  const known = waits(dump, stats);
  const oldest = (then, level) => {
    const is = (wait) => wait.from <= then && wait.to > then && (level === undefined || wait.level === level);
    const from = known.reduce((least, wait) => (wait.from < least && is(wait) ? wait.from : least), Infinity);
    return from < Infinity ? ms(then - from) : null;
  };
  // Counted backwards from how it was at the end.
  const rows = [];
  const queues = list(stats.levels).map((level) => level.queued);
  let [queued, active, index] = [stats.queued, stats.active, events.length - 1];
  for (let end = last; end > first; end -= step) {
    const took = known.filter((wait) => !wait.isCut && wait.to <= end && wait.to > end - step).map((wait) => ms(wait.to - wait.from)).sort((one, other) => one - other);
    const row = [at(end), queued, active, stats.threads, 0, 0, oldest(end), quantile(took, 0.5), quantile(took, 0.99), queues.map((queued, level) => [queued, oldest(end, level), 0, 0])];
    for (; index >= 0 && events[index].at > end - step; index--) {
      const { kind, level } = events[index];
      const isLevel = level in queues;
      if (kind === "submitted") queued = Math.max(0, queued - 1);
      if (kind === "taken") [queued, active] = [queued + 1, Math.max(0, active - 1)];
      if (kind === "submitted" && isLevel) queues[level] = Math.max(0, queues[level] - 1);
      if (kind === "taken" && isLevel) [queues[level], row[9][level][3]] = [queues[level] + 1, row[9][level][3] + 1];
      if (kind === "ended") [active, row[4]] = [active + 1, row[4] + 1 / step];
      if (kind === "rejected") row[5]++;
      if (kind === "promoted" && isLevel) row[9][level][2]++;
    }
    rows.unshift(row);
  }
  return rows;
}

/** What ran in that time, by name and level, as the server tells it of a live pool. */
function served(dump, at, from, to) {
  const sums = new Map();
  for (const { label: name, level, begin, end } of runs(dump, at)) {
    const took = Math.min(end, to) - Math.max(begin, from);
    if (took < 0) continue;
    const sum = sums.get(level + "/" + name) ?? { name, level, runs: 0, took: 0 };
    sums.set(level + "/" + name, { ...sum, runs: sum.runs + 1, took: sum.took + took });
  }
  const taken = list(dump.stats?.levels).map(() => 0);
  for (const { kind, level, at: time } of list(dump.events)) if (kind === "taken" && level in taken && at(time) >= from && at(time) <= to) taken[level]++;
  const tasks = [...sums.values()].sort((one, other) => other.took - one.took || other.runs - one.runs);
  return { records: dump.records, cut: at(dump.events?.[0]?.at ?? 0) > from, levels: taken, tasks: tasks.slice(0, 12), more: Math.max(0, tasks.length - 12) };
}

function levels(stats) {
  return list(stats.levels).map((level) => ({ ...level, oldest: ms(level.oldest_wait), wait_99: ms(level.wait?.p99) }));
}

function task(t, worker) {
  return { id: t.id, name: t.name ?? short(t.type), site: t.site, age: ms(t.running_for ?? t.age), level: t.priority, view: t.view, worker, why: t.why, cancelled: false };
}

export function readDump(dump) {
  if (!dump || dump.punctual_dump !== 1) throw new Error("it has no field \"punctual_dump\" with a version this page knows (1)");
  const stats = dump.stats ?? {};
  const time = ms(dump.at);
  const at = (seconds) => time - (dump.now - seconds) * 1000;
  const bars = runs(dump, at).filter((run) => !run.isInner).slice(-MOST_BARS).map((bar, id) => ({ id: id + 1, ...bar }));
  const rows = history(dump, at, stats);
  const begin = Math.min(...bars.map((bar) => bar.begin), ...rows.slice(0, 1).map((row) => row[0]), time - 1000);
  const pool = {
    ...stats,
    id: 1,
    name: String(dump.name),
    state: String(stats.state ?? "").toLowerCase(),
    oldest: ms(stats.oldest_wait),
    rate: rows.at(-1)?.[4] ?? 0,
    rejected: ["full", "shutdown", "no_thread", "would_deadlock", "caller_ran", "discarded"].reduce((sum, why) => sum + (stats.rejected?.[why] ?? 0), 0),
    rejected_lately: 0,
    stalled: ms(dump.stalled) ?? 0,
    timers: stats.pending_timers,
    lanes: dump.lanes?.running + dump.lanes?.waiting > 0 ? { ...dump.lanes, oldest: ms(dump.lanes.oldest_wait) } : undefined,
    views: list(stats.views).map((view) => ({ ...view, oldest: ms(view.oldest_wait) })),
    spark: rows.slice(-60).map((row) => row[1]),
  };
  const schedule = (s) => ({ ...s, pool: 1, pool_name: pool.name, next: ms(s.upcoming?.[0]?.at), error: s.last_error, upcoming: list(s.upcoming).map((u) => ms(u.at)) });
  const rejects = list(dump.rejected).map((r) => ({ ...r, time: ms(r.at), task: r.task ?? short(r.type), oldest: ms(r.oldest_wait) }));
  const totals = { ...stats, ...stats.rejected, spurious: stats.spurious_wakeups, wait_half: ms(stats.wait?.p50), wait_99: ms(stats.wait?.p99), run_half: ms(stats.run?.p50), run_99: ms(stats.run?.p99) };
  return {
    id: time,
    time,
    first: true,
    span: Math.max(time - begin, 1),
    pools: [pool],
    schedules: list(dump.schedules).map(schedule),
    audit: { entries: [], refused: 0 },
    cost: { reading: 0, framing: 0, watchers: 0 },
    detail: {
      rows,
      bars,
      levels: levels(stats),
      running: list(dump.workers).flatMap((w) => list(w.running).map((t) => task(t, w.number))),
      queued: list(dump.queued).map((t) => task(t)),
      rejects,
      totals,
      records: dump.records,
      advice: dump.advice,
      lints: list(dump.lints),
      served: (from, to) => served(dump, at, from, to),
    },
  };
}
