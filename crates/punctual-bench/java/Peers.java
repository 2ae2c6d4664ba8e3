import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * The scenarios of punctual-bench for the JVM's pools; they mirror src/measure line by line. In: SCENARIO PEER SIZES.
 * Out: one line "result name=value ...". Lambdas capture, since one that does not is a singleton and never allocates.
 */
public final class Peers {
    static final int WORKERS = 2;
    static final int ROOM = 4 << 20;
    static final int OVERLOADED = 1024;
    static final long WINDOW = 8192;
    static final long LOOK_EVERY = 256;
    static final int PRODUCERS = 4;
    static final int WARM_PASSES = 3;
    static final int MICROSECOND_STEPS = 550;

    // ---- counting: one padded slot per thread, each with a single writer --------------------------------------

    static final int STRIDE = 16;
    static final int SLOTS = 64;
    static final AtomicLongArray COUNTS = new AtomicLongArray(SLOTS * STRIDE);
    static final AtomicInteger CLAIMED = new AtomicInteger();

    interface Slotted {
        int slot();
    }

    static int claim() {
        return CLAIMED.getAndIncrement() * STRIDE;
    }

    static final class PlainThread extends Thread implements Slotted {
        final int slot = claim();
        /** Where this thread is on its way through the levels. */
        long where;

        PlainThread(Runnable body) {
            super(body);
        }

        @Override
        public int slot() {
            return slot;
        }
    }

    static final class ForkThread extends ForkJoinWorkerThread implements Slotted {
        final int slot = claim();

        ForkThread(ForkJoinPool pool) {
            super(pool);
        }

        @Override
        public int slot() {
            return slot;
        }
    }

    static void ran(long token) {
        int slot = ((Slotted) Thread.currentThread()).slot();
        // No token is ever this one; the compiler does not know it and so keeps the capture.
        long step = token == Long.MIN_VALUE ? 2 : 1;
        COUNTS.setOpaque(slot, COUNTS.getPlain(slot) + step);
    }

    static long total() {
        long sum = 0;
        for (int i = 0, claimed = CLAIMED.get(); i < claimed; i++) {
            sum += COUNTS.getOpaque(i * STRIDE);
        }
        return sum;
    }

    static void waitFor(long base, long tasks) {
        while (total() - base < tasks) {
            LockSupport.parkNanos(20_000);
        }
    }

    // ---- pools --------------------------------------------------------------------------------------------------

    static ExecutorService open(String peer, boolean overload, int workers) {
        switch (peer) {
            case "j-fixed-lbq":
                return fixed(workers,
                    overload ? new LinkedBlockingQueue<>(OVERLOADED) : new LinkedBlockingQueue<>());
            case "j-fixed-abq":
                return fixed(workers, new ArrayBlockingQueue<>(overload ? OVERLOADED : ROOM));
            case "j-tpe-pbq":
                return fixed(workers, new PriorityBlockingQueue<>());
            case "j-fjp":
                return new ForkJoinPool(WORKERS, ForkThread::new, null, false);
            default:
                throw new IllegalArgumentException("unknown peer " + peer);
        }
    }

    static ExecutorService fixed(int workers, BlockingQueue<Runnable> queue) {
        return new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS, queue, PlainThread::new,
            new ThreadPoolExecutor.CallerRunsPolicy());
    }

    // ---- scenarios ----------------------------------------------------------------------------------------------

    interface Pass {
        long nanos() throws Exception;
    }

    static String passes(int repeat, long tasks, Pass pass) throws Exception {
        double cold = 0;
        double warm = 0;
        for (int i = 0; i < Math.max(1, repeat); i++) {
            warm = (double) pass.nanos() / tasks;
            if (i == 0) {
                cold = warm;
            }
        }
        return figure("cold", cold) + figure("warm", warm);
    }

    static String figure(String name, double value) {
        return String.format(Locale.ROOT, " %s=%.4f", name, value);
    }

    static long fire(ExecutorService pool, long tasks) {
        long base = total();
        long start = System.nanoTime();
        for (long i = 0; i < tasks; i++) {
            final long token = i;
            pool.execute(() -> ran(token));
        }
        waitFor(base, tasks);
        return System.nanoTime() - start;
    }

    static long fireInWindow(ExecutorService pool, long tasks) {
        long base = total();
        long start = System.nanoTime();
        for (long i = 0; i < tasks; i++) {
            if (i % LOOK_EVERY == 0) {
                while (i - (total() - base) > WINDOW - LOOK_EVERY) {
                    Thread.yield();
                }
            }
            final long token = i;
            pool.execute(() -> ran(token));
        }
        waitFor(base, tasks);
        return System.nanoTime() - start;
    }

    static long fireFromFour(ExecutorService pool, long tasks) throws InterruptedException {
        long base = total();
        long each = tasks / PRODUCERS;
        CountDownLatch arrived = new CountDownLatch(PRODUCERS);
        CountDownLatch gate = new CountDownLatch(1);
        Thread[] producers = new Thread[PRODUCERS];
        for (int p = 0; p < PRODUCERS; p++) {
            producers[p] = new Thread(() -> {
                arrived.countDown();
                try {
                    gate.await();
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
                for (long i = 0; i < each; i++) {
                    final long token = i;
                    pool.execute(() -> ran(token));
                }
            });
            producers[p].start();
        }
        arrived.await();
        long start = System.nanoTime();
        gate.countDown();
        for (Thread producer : producers) {
            producer.join();
        }
        waitFor(base, each * PRODUCERS);
        return System.nanoTime() - start;
    }

    static String submitPasses(ExecutorService pool, int repeat, int tasks) throws Exception {
        Future<?>[] handles = new Future<?>[tasks];
        return passes(repeat, tasks, () -> {
            long start = System.nanoTime();
            for (int i = 0; i < tasks; i++) {
                final long token = i;
                handles[i] = pool.submit((Callable<Long>) () -> token);
            }
            long sum = 0;
            for (int i = 0; i < tasks; i++) {
                sum += (Long) handles[i].get();
                handles[i] = null;
            }
            long time = System.nanoTime() - start;
            check(sum == (long) tasks * (tasks - 1) / 2, "every result arrives once");
            return time;
        });
    }

    static final class Branch extends RecursiveAction {
        private static final long serialVersionUID = 1;
        final int depth;

        Branch(int depth) {
            this.depth = depth;
        }

        @Override
        protected void compute() {
            if (depth > 0) {
                new Branch(depth - 1).fork();
                new Branch(depth - 1).fork();
            }
            ran(depth);
        }
    }

    static void fork(ExecutorService pool, int depth) {
        if (depth > 0) {
            pool.execute(() -> fork(pool, depth - 1));
            pool.execute(() -> fork(pool, depth - 1));
        }
        ran(depth);
    }

    static long forkTree(ExecutorService pool, int depth, long nodes) {
        long base = total();
        long start = System.nanoTime();
        if (pool instanceof ForkJoinPool) {
            ((ForkJoinPool) pool).execute(new Branch(depth));
        } else {
            pool.execute(() -> fork(pool, depth));
        }
        waitFor(base, nodes);
        return System.nanoTime() - start;
    }

    static String ping(ExecutorService pool, int busy, int parked) throws Exception {
        for (int i = 0; i < WARM_PASSES; i++) {
            rounds(pool, busy / 4, false);
        }
        double[] back = rounds(pool, busy, false);
        double[] after = rounds(pool, parked, true);
        return figure("busy_p50", quantile(back, 0.5)) + figure("busy_p99", quantile(back, 0.99))
            + figure("parked_p50", quantile(after, 0.5)) + figure("parked_p99", quantile(after, 0.99));
    }

    static double[] rounds(ExecutorService pool, int rounds, boolean pause) throws Exception {
        double[] times = new double[rounds];
        for (int i = 0; i < rounds; i++) {
            if (pause) {
                Thread.sleep(1);
            }
            final long token = i;
            long start = System.nanoTime();
            long answer = pool.submit((Callable<Long>) () -> token).get();
            times[i] = (System.nanoTime() - start) / 1000.0;
            check(answer == token, "the answer belongs to the question");
        }
        return times;
    }

    static double quantile(double[] values, double q) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[Math.max(0, (int) Math.ceil(q * sorted.length) - 1)];
    }

    static long spinSteps(long seed, int steps) {
        long x = seed;
        for (int i = 0; i < steps; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    static long overload(ExecutorService pool, long tasks) {
        long base = total();
        long start = System.nanoTime();
        for (long i = 0; i < tasks; i++) {
            final long token = i + 1;
            pool.execute(() -> ran(spinSteps(token, MICROSECOND_STEPS)));
        }
        waitFor(base, tasks);
        return System.nanoTime() - start;
    }

    // ---- levels (M, N1): see src/measure/levels/circle.rs -------------------------------------------------------

    static final int[] BACKLOGS = {0, 1_000, 100_000};
    static final String[] BACKLOG_NAMES = {"backlog_0", "backlog_1k", "backlog_100k"};
    static final long STEP = 0x9e3779b97f4a7c15L;
    static final AtomicLong NUMBERS = new AtomicLong();

    /** A task that a priority queue can order: by level, and in a level by its number. */
    abstract static class Job implements Runnable, Comparable<Job> {
        final int level;
        final long number = NUMBERS.getAndIncrement();

        Job(int level) {
            this.level = level;
        }

        @Override
        public int compareTo(Job other) {
            return level != other.level ? Integer.compare(level, other.level) : Long.compare(number, other.number);
        }
    }

    static final class Counted extends Job {
        final long token;

        Counted(int level, long token) {
            super(level);
            this.token = token;
        }

        @Override
        public void run() {
            ran(token);
        }
    }

    static final class Holding extends Job {
        final CountDownLatch held = new CountDownLatch(1);
        final CountDownLatch release;

        Holding(CountDownLatch release) {
            super(0);
            this.release = release;
        }

        @Override
        public void run() {
            held.countDown();
            try {
                release.await();
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
        }
    }

    static int levelAt(long position) {
        return (int) (position >>> 62);
    }

    static int nextLevel() {
        PlainThread thread = (PlainThread) Thread.currentThread();
        thread.where += STEP;
        return levelAt(thread.where);
    }

    static final class Circle {
        final ExecutorService pool;
        final AtomicInteger ended = new AtomicInteger();
        volatile boolean over;

        Circle(ExecutorService pool) {
            this.pool = pool;
        }

        void push() {
            pool.execute(new Turn(this, nextLevel()));
        }
    }

    static final class Turn extends Job {
        final Circle circle;

        Turn(Circle circle, int level) {
            super(level);
            this.circle = circle;
        }

        @Override
        public void run() {
            if (circle.over) {
                circle.ended.incrementAndGet();
                return;
            }
            circle.push();
            ran(1);
        }
    }

    static double circulate(ExecutorService pool, int workers, int backlog, long tasks) throws Exception {
        Circle circle = new Circle(pool);
        CountDownLatch release = new CountDownLatch(1);
        for (int w = 0; w < workers; w++) {
            Holding holding = new Holding(release);
            pool.execute(holding);
            holding.held.await();
        }
        int all = backlog + workers;
        for (int i = 0; i < all; i++) {
            circle.push();
        }
        long base = total();
        long start = System.nanoTime();
        release.countDown();
        waitFor(base, tasks);
        long ran = total() - base;
        long time = System.nanoTime() - start;
        circle.over = true;
        while (circle.ended.get() < all) {
            LockSupport.parkNanos(50_000);
        }
        return (double) time / ran;
    }

    static long fireOverLevels(ExecutorService pool, long tasks) {
        long base = total();
        long start = System.nanoTime();
        for (long i = 0; i < tasks; i++) {
            if (i % LOOK_EVERY == 0) {
                while (i - (total() - base) > WINDOW - LOOK_EVERY) {
                    Thread.yield();
                }
            }
            pool.execute(new Counted(levelAt(i * STEP), i));
        }
        waitFor(base, tasks);
        return System.nanoTime() - start;
    }

    static String besideBacklogs(ExecutorService pool, int workers, int repeat, long tasks) throws Exception {
        StringBuilder figures = new StringBuilder();
        for (int b = 0; b < BACKLOGS.length; b++) {
            double last = 0;
            for (int i = 0; i < Math.max(1, repeat); i++) {
                last = circulate(pool, workers, BACKLOGS[b], tasks);
            }
            figures.append(figure(BACKLOG_NAMES[b], last));
        }
        return figures.toString();
    }

    static String fromOutside(ExecutorService pool, int repeat, long tasks) {
        double last = 0;
        for (int i = 0; i < Math.max(1, repeat); i++) {
            last = (double) fireOverLevels(pool, tasks) / tasks;
        }
        return figure("outside", last);
    }

    static String idle(ExecutorService pool, long tasks) throws Exception {
        fire(pool, tasks);
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {
            // Until the parent closes it.
        }
        return "";
    }

    /** Live heap instead of the resident size: a JVM's heap is resident before anything is in it. */
    static String memory(ExecutorService pool, int tasks, boolean withHandle) throws Exception {
        Future<?>[] handles = new Future<?>[withHandle ? tasks : 0];
        CountDownLatch release = new CountDownLatch(1);
        for (int w = 0; w < WORKERS; w++) {
            CountDownLatch held = new CountDownLatch(1);
            pool.execute(() -> {
                held.countDown();
                try {
                    release.await();
                } catch (InterruptedException never) {
                    throw new IllegalStateException(never);
                }
            });
            held.await();
        }
        long base = total();
        long before = usedHeap();
        for (int i = 0; i < tasks; i++) {
            final long token = i;
            if (withHandle) {
                handles[i] = pool.submit((Callable<Long>) () -> token);
            } else {
                pool.execute(() -> ran(token));
            }
        }
        double perTask = (double) Math.max(0, usedHeap() - before) / tasks;
        release.countDown();
        if (withHandle) {
            for (Future<?> handle : handles) {
                handle.get();
            }
        } else {
            waitFor(base, tasks);
        }
        return figure(withHandle ? "submit" : "execute", perTask);
    }

    static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("broken promise: " + what);
        }
    }

    static String run(String scenario, String peer, int count, int repeat) throws Exception {
        // In M a push and a pop are one thread's work.
        int workers = scenario.equals("M") ? 1 : WORKERS;
        ExecutorService pool = open(peer, scenario.equals("F"), workers);
        switch (scenario) {
            case "A":
                return passes(repeat, count, () -> fire(pool, count));
            case "A2":
                return passes(repeat, count, () -> fireInWindow(pool, count));
            case "B":
                return passes(repeat, count, () -> fireFromFour(pool, count));
            case "C":
                return submitPasses(pool, repeat, count);
            case "D": {
                int depth = 30 - Integer.numberOfLeadingZeros(Math.max(2, count + 1));
                long nodes = (2L << depth) - 1;
                return passes(repeat, nodes, () -> forkTree(pool, depth, nodes));
            }
            case "E":
                return ping(pool, count, repeat);
            case "F":
                return passes(repeat, count, () -> overload(pool, count));
            case "K":
                return idle(pool, count);
            case "L-execute":
                return memory(pool, count, false);
            case "L-submit":
                return memory(pool, count, true);
            case "M":
                return besideBacklogs(pool, workers, repeat, count);
            case "N1":
                return fromOutside(pool, repeat, count) + besideBacklogs(pool, workers, repeat, count);
            default:
                throw new IllegalArgumentException("unknown scenario " + scenario);
        }
    }

    public static void main(String[] args) throws Exception {
        String[] sizes = args[2].split("x");
        int[] status = {1};
        // The producer counts too when the caller runs, so it is a thread with a slot.
        Thread main = new PlainThread(() -> {
            try {
                System.out.println("result"
                    + run(args[0], args[1], Integer.parseInt(sizes[0]), Integer.parseInt(sizes[1])));
                status[0] = 0;
            } catch (Exception problem) {
                problem.printStackTrace();
            }
        });
        main.start();
        main.join();
        // The pool's threads are not daemons and nothing shuts it down, as on the other side.
        System.exit(status[0]);
    }
}
