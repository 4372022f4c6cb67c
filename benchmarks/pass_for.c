/* Lets a newer Intel processor pass for an older one.

   cc -O2 -shared -fPIC benchmarks/pass_for.c -o pass_for.so
   PASS_FOR=avx512 LD_PRELOAD=$PWD/pass_for.so python -m benchmarks --processor avx512
   PASS_FOR=avx2 LD_PRELOAD=$PWD/pass_for.so python -m benchmarks --processor avx2

avx512 is the AVX-512 of 2017, without VNNI, bfloat16 and AMX; avx2 has no AVX-512 at all. Libraries
ask the instruction CPUID what a processor can do. Linux can let that instruction fail
("cpuid_fault" in /proc/cpuinfo); the handler below answers for it. All libraries then take the way
that they take on such a processor, which environment variables cannot achieve for all of them. The
clock and the caches remain those of the processor.

Each program of the command does this at its start, since exec() lets CPUID work again. Handlers that
libraries install for SIGSEGV are ignored: they would answer in the place of this one. */

#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

/* What the older processor is, for `benchmarks/run.py`; "" until the constructor has run. */
const char *passes_for = "";

static const unsigned LEAF_7_EBX_AVX512 = /* AVX-512: F, DQ, CD, BW, VL */
    BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31);
static unsigned leaf_7_ebx = BIT(21) | BIT(26) | BIT(27); /* AVX-512: IFMA, PF, ER */
static const unsigned LEAF_7_ECX = /* AVX-512: VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
    BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static const unsigned LEAF_7_EDX = /* AVX-512: 4VNNIW, 4FMAPS, VP2INTERSECT, FP16; AMX */
    BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);
static const unsigned LEAF_7_1_EAX = /* AVX-VNNI, AVX-512 BF16, AMX-FP16, AVX-IFMA */
    BIT(4) | BIT(5) | BIT(21) | BIT(23);
static const unsigned LEAF_7_1_EDX = /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, INT16, AVX10 */
    BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19);

/* Both calls are of one thread; threads inherit the setting. */
static long set_cpuid(int works) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, works); }

typedef int (*set_action)(int, const struct sigaction *, struct sigaction *);

static int real_sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    return ((set_action)dlsym(RTLD_NEXT, "sigaction"))(number, new, old);
}

int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    return real_sigaction(number, number == SIGSEGV ? NULL : new, old);
}

sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

    return sigaction(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static void answer(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *instruction = (const unsigned char *)registers[REG_RIP];
    unsigned leaf = registers[REG_RAX], part = registers[REG_RCX], eax, ebx, ecx, edx;

    (void)info;
    if (instruction[0] != 0x0f || instruction[1] != 0xa2) { /* a real fault */
        real_sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return;
    }
    set_cpuid(1);
    __cpuid_count(leaf, part, eax, ebx, ecx, edx);
    set_cpuid(0);
    if (leaf == 7 && part == 0) {
        ebx &= ~leaf_7_ebx;
        ecx &= ~LEAF_7_ECX;
        edx &= ~LEAF_7_EDX;
    } else if (leaf == 7 && part == 1) {
        eax &= ~LEAF_7_1_EAX;
        edx &= ~LEAF_7_1_EDX;
    }
    registers[REG_RAX] = eax;
    registers[REG_RBX] = ebx;
    registers[REG_RCX] = ecx;
    registers[REG_RDX] = edx;
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void hide(void)
{
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};

    passes_for = getenv("PASS_FOR");
    if (passes_for == NULL || (strcmp(passes_for, "avx512") && strcmp(passes_for, "avx2"))) {
        fputs("pass_for: set PASS_FOR to avx512 or avx2\n", stderr);
        exit(2);
    }
    if (strcmp(passes_for, "avx2") == 0)
        leaf_7_ebx |= LEAF_7_EBX_AVX512;
    real_sigaction(SIGSEGV, &action, NULL);
    if (set_cpuid(0) != 0) {
        fputs("pass_for: this processor's CPUID cannot be made to fail\n", stderr);
        exit(2);
    }
}
