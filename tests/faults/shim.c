/* Put before libc with LD_PRELOAD: a clock that is moved, a disk that is slow, full or fails, as a file says.
 *
 * The file, named by FAULTS_FILE, holds the four numbers of `struct faults`. It is mapped, so that a test can
 * change them while the process runs. Only the wall clock is moved: waiting goes by the monotonic one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct faults {
    int64_t clock_seconds;     /* added to the wall clock */
    int64_t sync_microseconds; /* how much longer every flush takes */
    int64_t sync_error;        /* the errno of flushes that fail, or 0 */
    int64_t sync_error_every;  /* every how many flushes one fails; 0 for none */
};

static struct faults none;
static volatile struct faults *told = &none;
static int64_t syncs;

__attribute__((constructor)) static void open_faults(void)
{
    const char *path = getenv("FAULTS_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(struct faults), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        told = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += told->clock_seconds;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec moved;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &moved);
    now->tv_sec = moved.tv_sec;
    now->tv_usec = moved.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into)
{
    struct timespec moved;
    clock_gettime(CLOCK_REALTIME, &moved);
    if (into)
        *into = moved.tv_sec;
    return moved.tv_sec;
}

static int flush(const char *name, int file)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (told->sync_microseconds)
        usleep((useconds_t)told->sync_microseconds);
    if (told->sync_error_every && __sync_add_and_fetch(&syncs, 1) % told->sync_error_every == 0) {
        errno = (int)told->sync_error;
        return -1;
    }
    return real(file);
}

int fsync(int file) { return flush("fsync", file); }

int fdatasync(int file) { return flush("fdatasync", file); }
