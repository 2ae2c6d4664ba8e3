import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Scenarios G to K of punctual-bench for the JVM's ScheduledThreadPoolExecutor; they mirror src/measure/timers. In:
 * SCENARIO PEER SIZES. Out: one line "result name=value ...". Cancelled timers are removed, which is not its default.
 */
public final class Timers {
    static final int WORKERS = 2;
    static final long SEED = 0x9e3779b97f4a7c15L;
    static final long MICROS = 1_000_000;
    static final long MEAN_GAP = 500_000;
    static final long LEAD = 100_000_000;
    static final long LEAST_LEAD = 200_000_000;
    static final long ARMING = 1_500;
    static final int TRIES = 5;
    static final long PERIOD = 100_000_000;
    static final int BATCH = 1000;
    static final long[] LEVELS = {10_000, 100_000, 1_000_000, 10_000_000};
    static final String[] LEVEL_NAMES = {"at_10k", "at_100k", "at_1m", "at_10m"};

    /** One cell per thread that counts, as on the other side. */
    static final LongAdder RAN = new LongAdder();
    static final ScheduledThreadPoolExecutor POOL = new ScheduledThreadPoolExecutor(WORKERS);

    // ---- the bench's own needs ----------------------------------------------------------------------------------

    static long random = SEED;

    static long below(long limit) {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return Long.remainderUnsigned(random, limit);
    }

    /** Microseconds from `least` seconds to 600. */
    static long[] delays(long least, int count) {
        long[] delays = new long[count];
        for (int i = 0; i < count; i++) {
            delays[i] = least * MICROS + below((600 - least) * MICROS);
        }
        return delays;
    }

    static void shuffle(Object[] items) {
        for (int last = items.length - 1; last > 0; last--) {
            int other = (int) below(last + 1L);
            Object item = items[last];
            items[last] = items[other];
            items[other] = item;
        }
    }

    static String figure(String name, double value) {
        return String.format(Locale.ROOT, " %s=%.4f", name, value);
    }

    static double quantile(double[] sorted, double q) {
        return sorted[Math.max(0, (int) Math.ceil(q * sorted.length) - 1)];
    }

    static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean)
            java.lang.management.ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static void sleepUntil(long nanoTime) {
        for (long left; (left = nanoTime - System.nanoTime()) > 0;) {
            LockSupport.parkNanos(left);
        }
    }

    static void waitFor(long base, long tasks) {
        while (RAN.sum() - base < tasks) {
            LockSupport.parkNanos(20_000);
        }
    }

    // ---- G ------------------------------------------------------------------------------------------------------

    /** No token is ever this one; the compiler does not know it and so keeps the capture. */
    static void fired(long token) {
        if (token == Long.MIN_VALUE) {
            RAN.increment();
        }
    }

    static Future<?> insert(long delayMicros, long token) {
        return POOL.schedule(() -> fired(token), delayMicros, TimeUnit.MICROSECONDS);
    }

    static long fill(long[] delays, Future<?>[] places, int from) {
        long start = System.nanoTime();
        for (int i = 0; i < delays.length; i++) {
            places[from + i] = insert(delays[i], i);
        }
        return System.nanoTime() - start;
    }

    static long empty(Future<?>[] places) {
        long start = System.nanoTime();
        for (int i = 0; i < places.length; i++) {
            places[i].cancel(false);
            places[i] = null;
        }
        return System.nanoTime() - start;
    }

    static String insertAndCancel(int count, int passes) {
        Future<?>[] places = new Future<?>[count];
        double cold = 0;
        double warm = 0;
        double inRandom = 0;
        double inOrder = 0;
        for (int pass = 0; pass < (Math.max(1, passes) + 1) / 2; pass++) {
            double insert = (double) fill(delays(1, count), places, 0) / count;
            if (pass == 0) {
                cold = insert;
            }
            shuffle(places);
            inRandom = (double) empty(places) / count;
            warm = (double) fill(delays(1, count), places, 0) / count;
            inOrder = (double) empty(places) / count;
        }
        return figure("insert_cold", cold) + figure("insert_warm", warm) + figure("cancel_random", inRandom)
            + figure("cancel_order", inOrder);
    }

    static String bytes(int count) {
        Future<?>[] places = new Future<?>[count];
        long[] delays = delays(60, count);
        long before = usedHeap();
        fill(delays, places, 0);
        double full = (double) Math.max(0, usedHeap() - before) / count;
        shuffle(places);
        empty(places);
        return figure("bytes", full) + figure("kept", (double) Math.max(0, usedHeap() - before) / count);
    }

    static String churn(int live, int passes) {
        Future<?>[] places = new Future<?>[live];
        fill(delays(60, live), places, 0);
        long full = usedHeap();
        long time = 0;
        for (int pass = 0; pass < Math.max(1, passes); pass++) {
            long[] delays = delays(60, live);
            shuffle(places);
            long start = System.nanoTime();
            for (int i = 0; i < live; i++) {
                places[i].cancel(false);
                places[i] = insert(delays[i], i);
            }
            time = System.nanoTime() - start;
        }
        double grown = (double) Math.max(0, usedHeap() - full) / live;
        return figure("churn", (double) time / live) + figure("grown", grown);
    }

    static String growth(int most, int batches) {
        Future<?>[] live = new Future<?>[0];
        StringBuilder out = new StringBuilder();
        double highest = 0;
        double lowest = Double.MAX_VALUE;
        for (int level = 0; level < LEVELS.length; level++) {
            if (LEVELS[level] > most && level > 0) {
                break;
            }
            int had = live.length;
            live = Arrays.copyOf(live, (int) Math.min(LEVELS[level], most));
            fill(delays(60, live.length - had), live, had);
            if (level == 0) {
                // For the compiler; the first level would pay for all.
                pairs(live, batches);
            }
            double cost = pairs(live, batches);
            out.append(figure(LEVEL_NAMES[level], cost));
            highest = Math.max(highest, cost);
            lowest = Math.min(lowest, cost);
        }
        // One level alone tells nothing.
        return out + (live.length > LEVELS[0] ? figure("flatness", highest / lowest) : "");
    }

    static double pairs(Future<?>[] live, int batches) {
        int batch = Math.min(BATCH, live.length);
        Future<?>[] fresh = new Future<?>[batch];
        Future<?>[] old = new Future<?>[batch];
        long time = 0;
        for (int b = 0; b < batches; b++) {
            time += fill(delays(60, batch), fresh, 0);
            for (int i = 0; i < batch; i++) {
                int victim = (int) below(live.length);
                old[i] = live[victim];
                live[victim] = fresh[i];
            }
            time += empty(old);
        }
        return (double) time / ((long) Math.max(1, batches) * batch);
    }

    // ---- H, I, J: `at` is a System.nanoTime() -------------------------------------------------------------------

    interface Body {
        void run(int index);
    }

    static void arm(long at, int index, Body body) {
        POOL.schedule(() -> body.run(index), at - System.nanoTime(), TimeUnit.NANOSECONDS);
    }

    static String lateness(int count) {
        runLate(Math.min(count, 1000));
        return runLate(count);
    }

    static String runLate(int count) {
        long[] due = new long[count];
        double[] late = new double[count];
        long start = System.nanoTime() + LEAD;
        long last = start;
        for (int i = 0; i < count; i++) {
            due[i] = start + 1000 * below(MEAN_GAP / 1000 * count);
            last = Math.max(last, due[i]);
        }
        long base = RAN.sum();
        for (int i = 0; i < count; i++) {
            arm(due[i], i, index -> {
                late[index] = System.nanoTime() - due[index];
                RAN.increment();
            });
        }
        long cpu = cpuNanos();
        sleepUntil(last);
        waitFor(base, count);
        cpu = cpuNanos() - cpu;
        Arrays.sort(late);
        long early = Arrays.stream(late).filter(one -> one < 0).count();
        return figure("p50", quantile(late, 0.5) / 1000) + figure("p99", quantile(late, 0.99) / 1000)
            + figure("p999", quantile(late, 0.999) / 1000) + figure("max", quantile(late, 1) / 1000)
            + figure("cpu", cpu / 1e6) + figure("early", early);
    }

    /** When the first of a burst ran. */
    static final AtomicLong FIRST = new AtomicLong();

    static String instant(int count, boolean spread) {
        fireAll(Math.max(16, count / 10), spread);
        fireAll(Math.max(16, count / 10), spread);
        return fireAll(count, spread);
    }

    static String fireAll(int count, boolean spread) {
        long lead = Math.max(LEAST_LEAD, ARMING * count);
        for (int attempt = 0; attempt < TRIES; attempt++, lead *= 2) {
            long first = System.nanoTime() + lead;
            long last = first;
            long base = RAN.sum();
            FIRST.set(0);
            for (int i = 0; i < count; i++) {
                long at = first + (spread ? 1000 * below(count) : 0);
                last = Math.max(last, at);
                arm(at, i, index -> {
                    if (FIRST.get() == 0) {
                        FIRST.compareAndSet(0, System.nanoTime());
                    }
                    RAN.increment();
                });
            }
            boolean inTime = System.nanoTime() < first;
            sleepUntil(first);
            long cpu = cpuNanos();
            sleepUntil(last);
            waitFor(base, count);
            long end = System.nanoTime();
            cpu = cpuNanos() - cpu;
            if (inTime) {
                String name = spread ? "spread" : "same";
                String other = spread ? figure("spread_behind", Math.max(0, end - last) / 1e6)
                    : figure("same_first", Math.max(0, FIRST.get() - first) / 1e6);
                return figure(name + "_wall", (end - first) / 1e6) + other + figure(name + "_cpu", cpu / 1e6);
            }
        }
        throw new IllegalStateException("arming " + count + " timers took too long");
    }

    static final AtomicLong LATE_2MS = new AtomicLong();
    static final AtomicLong LATE_10MS = new AtomicLong();
    static final AtomicLong MAX_LATE = new AtomicLong();

    static final class Ticker implements Runnable {
        final int ticks;
        long due;
        int done;

        Ticker(long first, int ticks) {
            this.due = first;
            this.ticks = ticks;
        }

        @Override
        public void run() {
            if (done++ >= ticks) {
                return;
            }
            long late = System.nanoTime() - due;
            due += PERIOD;
            if (late > 2_000_000) {
                LATE_2MS.incrementAndGet();
            }
            if (late > 10_000_000) {
                LATE_10MS.incrementAndGet();
            }
            if (late > MAX_LATE.get()) {
                MAX_LATE.accumulateAndGet(late, Math::max);
            }
            RAN.increment();
        }
    }

    static String periodic(int tasks, int ticks) {
        long first = System.nanoTime() + Math.max(LEAST_LEAD, ARMING * tasks);
        long base = RAN.sum();
        for (int i = 0; i < tasks; i++) {
            long at = first + PERIOD * i / tasks;
            POOL.scheduleAtFixedRate(new Ticker(at, ticks), at - System.nanoTime(), PERIOD, TimeUnit.NANOSECONDS);
        }
        sleepUntil(first);
        long cpu = cpuNanos();
        long end = first + PERIOD * ticks;
        sleepUntil(end);
        cpu = cpuNanos() - cpu;
        long expected = (long) tasks * ticks;
        while (RAN.sum() - base < expected && System.nanoTime() < end + 2_000_000_000L) {
            LockSupport.parkNanos(1_000_000);
        }
        long ran = RAN.sum() - base;
        double counted = Math.max(1, ran);
        return figure("cpu_tick", cpu / 1000.0 / counted) + figure("late_2ms", 100.0 * LATE_2MS.get() / counted)
            + figure("late_10ms", 100.0 * LATE_10MS.get() / counted) + figure("max_late", MAX_LATE.get() / 1e6)
            + figure("lost", expected - ran);
    }

    // ---- K ------------------------------------------------------------------------------------------------------

    static String idle(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            POOL.schedule(() -> { }, 600 + i, TimeUnit.SECONDS);
        }
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {
            // Until the parent closes it.
        }
        return "";
    }

    static String run(String scenario, int count, int repeat) throws Exception {
        switch (scenario) {
            case "G-insert":
                return insertAndCancel(count, repeat);
            case "G-bytes":
                return bytes(count);
            case "G-churn":
                return churn(count, repeat);
            case "G-growth":
                return growth(count, repeat);
            case "H":
                return lateness(count);
            case "I-same":
                return instant(count, false);
            case "I-spread":
                return instant(count, true);
            case "J":
                return periodic(count, repeat);
            case "K-timers":
                return idle(count);
            default:
                throw new IllegalArgumentException("unknown scenario " + scenario);
        }
    }

    public static void main(String[] args) {
        int status = 1;
        try {
            if (!args[1].equals("j-stpe")) {
                throw new IllegalArgumentException("unknown peer " + args[1]);
            }
            POOL.setRemoveOnCancelPolicy(true);
            POOL.prestartAllCoreThreads();
            String[] sizes = args[2].split("x");
            System.out.println("result" + run(args[0], Integer.parseInt(sizes[0]), Integer.parseInt(sizes[1])));
            status = 0;
        } catch (Exception problem) {
            problem.printStackTrace();
        }
        // The pool's threads are not daemons and nothing shuts it down, as on the other side.
        System.exit(status);
    }
}
