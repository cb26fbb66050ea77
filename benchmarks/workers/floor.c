/*
 * The floor: what starting a hook costs when nothing stands between the program and the kernel.
 *
 * Reads lines "count bytes shell" from stdin, where shell is bash, sh or - for none; runs the hook named by argv[1] that
 * often at once, each with three pipes and that many bytes of input, until all have ended; answers each line with
 * "nanoseconds longest-spawn-nanoseconds".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

enum { MOST = 512 };

extern char **environ;

struct child {
    pid_t pid;
    size_t written;
};

static const char *hook;
static char *payload;
static char scratch[1 << 16];
static struct child children[MOST];
static struct pollfd polled[MOST * 3];

/* True when everything is written, or nobody reads. */
static int feed(struct child *child, int fd, size_t bytes) {
    while (child->written < bytes) {
        ssize_t n = write(fd, payload + child->written, bytes - child->written);
        if (n < 0) return errno != EAGAIN;
        child->written += (size_t)n;
    }
    return 1;
}

static void start(int i, size_t bytes, const char *shell) {
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) die("pipe2");
    const char *program = shell ? shell : hook;
    char *with_shell[] = {(char *)shell, "-c", (char *)hook, NULL};
    char *without[] = {(char *)hook, NULL};
    char **arguments = shell ? with_shell : without;
    pid_t pid = vfork();
    if (pid < 0) die("vfork");
    if (pid == 0) {
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execve(program, arguments, environ);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    children[i] = (struct child){.pid = pid};
    polled[i * 3] = (struct pollfd){.fd = out[0], .events = POLLIN};
    polled[i * 3 + 1] = (struct pollfd){.fd = err[0], .events = POLLIN};
    polled[i * 3 + 2] = (struct pollfd){.fd = in[1], .events = POLLOUT};
    if (feed(&children[i], in[1], bytes)) {
        close(in[1]);
        polled[i * 3 + 2].fd = -1;
    }
}

static void run(int count, size_t bytes, const char *shell) {
    long long begin = now(), longest = 0;
    for (int i = 0; i < count; i++) {
        long long before = now();
        start(i, bytes, shell);
        long long took = now() - before;
        if (took > longest) longest = took;
    }
    int open = count * 2;
    while (open) {
        if (poll(polled, (nfds_t)count * 3, -1) < 0) die("poll");
        for (int k = 0; k < count * 3; k++) {
            struct pollfd *p = &polled[k];
            if (p->fd < 0 || !p->revents) continue;
            int is_done = k % 3 == 2 ? feed(&children[k / 3], p->fd, bytes) : read(p->fd, scratch, sizeof scratch) <= 0;
            if (is_done) {
                close(p->fd);
                p->fd = -1;
                if (k % 3 != 2) open--;
            }
        }
    }
    for (int i = 0; i < count; i++) {
        int status;
        if (waitpid(children[i].pid, &status, 0) < 0) die("waitpid");
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            fprintf(stderr, "the hook failed\n");
            exit(1);
        }
        if (polled[i * 3 + 2].fd >= 0) close(polled[i * 3 + 2].fd);
    }
    printf("%lld %lld\n", now() - begin, longest);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: floor HOOK BASH SH\n");
        return 2;
    }
    hook = argv[1];
    signal(SIGPIPE, SIG_IGN);
    payload = malloc(1 << 24);
    memset(payload, 'x', 1 << 24);
    int count;
    size_t bytes;
    char shell[16];
    while (scanf("%d %zu %15s", &count, &bytes, shell) == 3) {
        if (count > MOST || bytes > 1 << 24) return 2;
        run(count, bytes, !strcmp(shell, "bash") ? argv[2] : !strcmp(shell, "sh") ? argv[3] : NULL);
    }
    return 0;
}
