/*
 * What the end of a process costs by itself, if it has as much memory as a Python that was parked.
 *
 * Reads lines "resident written kept" from stdin: pages that the process shares with the one that it is a copy of, pages
 * of these that it has written to, and 1 if another process keeps the memory. For each line it makes such a process,
 * waits until that sleeps, wakes it up by a pipe, has it write a byte, and answers the nanoseconds until its exit.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { PAGE = 4096, MOST = 1 << 16, PAUSE_US = 20000 };

static char stack[1 << 14];

static int sleep_until_killed(void *unused) {
    (void)unused;
    for (;;) pause();
}

static void copy(char *memory, int written, int kept, int in[2], int out[2], int keeper[2]) {
    pid_t other = 0;
    char byte;
    close(in[1]);
    if (kept) other = clone(sleep_until_killed, stack + sizeof stack - 64, CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
    if (write(keeper[1], &other, sizeof other) < 0) die("write");
    for (int page = 0; page < written; page++) memory[(size_t)page * PAGE] = 2;
    if (read(in[0], &byte, 1) < 0 || write(out[1], "x", 1) < 0) die("pipe");
    _exit(0);
}

static void run(int resident, int written, int kept) {
    char *memory = mmap(NULL, (size_t)MOST * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    for (int page = 0; page < resident; page++) memory[(size_t)page * PAGE] = 1;
    int in[2], out[2], keeper[2], status;
    if (pipe(in) || pipe(out) || pipe(keeper)) die("pipe");
    pid_t other, pid = fork();
    char byte;
    if (pid < 0) die("fork");
    if (pid == 0) copy(memory, written, kept, in, out, keeper);
    if (read(keeper[0], &other, sizeof other) < 0) die("read");
    usleep(PAUSE_US);
    long long begin = now();
    if (write(in[1], "x", 1) < 0 || read(out[0], &byte, 1) < 0) die("pipe");
    if (waitpid(pid, &status, 0) < 0) die("waitpid");
    long long end = now();
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, &status, 0);
    }
    for (int side = 0; side < 2; side++) {
        close(in[side]);
        close(out[side]);
        close(keeper[side]);
    }
    munmap(memory, (size_t)MOST * PAGE);
    printf("%lld\n", end - begin);
    fflush(stdout);
}

int main(void) {
    int resident, written, kept;
    while (scanf("%d %d %d", &resident, &written, &kept) == 3) {
        if (resident > MOST || written > resident) return 2;
        run(resident, written, kept);
    }
    return 0;
}
