// Preloaded into a server: its wall clock is ahead by the ms in the first 8 bytes of the file CLOCK_FILE; its monotonic clock is right.
// It declares what it uses, so it needs no headers.
typedef long long number;
struct spec { number seconds, nanos; };
struct value { number seconds, micros; };
extern number syscall (number, ...);
extern int open (const char *, int, ...);
extern void *mmap (void *, unsigned long, int, int, int, number);
extern char *getenv (const char *);

static number ahead (void) {
  static volatile number *file = 0;
  if (!file) {
    void *mapped = mmap(0, 8, 1, 1, open(getenv("CLOCK_FILE"), 0), 0);
    if (mapped == (void *) -1) return 0;
    file = mapped;
  }
  return *file;
}

int clock_gettime (int id, struct spec *now) {
  int failed = (int) syscall(CLOCK_GETTIME, (number) id, now);
  if (!failed && (id == 0 || id == 5)) {
    number nanos = now->seconds * 1000000000 + now->nanos + ahead() * 1000000;
    now->seconds = nanos / 1000000000;
    now->nanos = nanos % 1000000000;
  }
  return failed;
}

int gettimeofday (struct value *now, void *zone) {
  struct spec spec;
  int failed = clock_gettime(0, &spec);
  now->seconds = spec.seconds;
  now->micros = spec.nanos / 1000;
  return failed;
}

number time (number *now) {
  struct spec spec;
  clock_gettime(0, &spec);
  if (now) *now = spec.seconds;
  return spec.seconds;
}
