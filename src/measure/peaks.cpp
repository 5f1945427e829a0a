#include "measure/peaks.h"

#include <immintrin.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/simd_level.h"

namespace evener::measure {
namespace {

constexpr int kSums = 12;  // independent sums: more than latency * multiply-adds per cycle
constexpr std::int64_t kRounds = 400'000;
constexpr int kTries = 8;
// Bytes per thread: more than its share of the caches, and the minimum in a small container.
constexpr std::uint64_t kMemory_bytes = std::uint64_t{128} << 20, kLeast_bytes = std::uint64_t{1} << 20;

// Separate variables, because an array of sums would stay in memory. The empty asm statement hides each value from the
// compiler, which would otherwise fold all rounds into one.
#define EVENER_DECLARE(i) auto sum##i = zero;
#define EVENER_OPERATE(i)   \
  sum##i = operate(sum##i); \
  asm volatile("" : "+x"(sum##i));
#define EVENER_EACH_SUM(what) \
  what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) what(11)
#define EVENER_ROUNDS()                                    \
  EVENER_EACH_SUM(EVENER_DECLARE)                          \
  for (std::int64_t round = 0; round < kRounds; ++round) { \
    EVENER_EACH_SUM(EVENER_OPERATE)                        \
  }

[[gnu::target("avx512f")]] void fma_avx512() {
  const __m512 a = _mm512_set1_ps(0.5F), b = _mm512_set1_ps(0.25F), zero = _mm512_setzero_ps();
#define operate(sum) _mm512_fmadd_ps(a, sum, b)
  EVENER_ROUNDS()
#undef operate
}

[[gnu::target("avx512f,avx512vl,avx512bf16")]] void dot_bf16() {
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f003f00));  // pairs of 0.5
  const __m512 zero = _mm512_setzero_ps();
#define operate(sum) _mm512_dpbf16_ps(sum, a, a)
  EVENER_ROUNDS()
#undef operate
}

[[gnu::target("avx2,fma")]] void fma_avx2() {
  const __m256 a = _mm256_set1_ps(0.5F), b = _mm256_set1_ps(0.25F), zero = _mm256_setzero_ps();
#define operate(sum) _mm256_fmadd_ps(a, sum, b)
  EVENER_ROUNDS()
#undef operate
}

void multiply_add_sse() {
  const __m128 a = _mm_set1_ps(0.5F), b = _mm_set1_ps(0.25F), zero = _mm_setzero_ps();
#define operate(sum) _mm_add_ps(_mm_mul_ps(a, sum), b)
  EVENER_ROUNDS()
#undef operate
}

struct Operation {
  const char* name;
  void (*run)();
  int flops;  // of one operation on vectors
};

Operation fma_operation() {
  if (simd_level() == SimdLevel::kAvx512) return {"AVX-512", fma_avx512, 32};
  if (simd_level() == SimdLevel::kAvx2) return {"AVX2", fma_avx2, 16};
  return {"SSE2 without FMA", multiply_add_sse, 8};
}

/// Work per second of all threads together, from the common start to the end of the last; the best of several tries.
/// Each thread prepares its data before the start.
double rate(int threads, double work_of_each, const std::function<void(int thread)>& prepare,
            const std::function<void(int thread)>& work) {
  std::barrier meeting(threads);
  double best = 0;
  const auto body = [&](int thread) {
    prepare(thread);
    for (int i = 0; i < kTries; ++i) {
      meeting.arrive_and_wait();
      const Stopwatch clock;
      work(thread);
      meeting.arrive_and_wait();
      if (thread == 0) best = std::max(best, work_of_each * threads / clock.seconds());
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(body, thread);
  body(0);
  others.clear();  // joins
  return best;
}

double gflops(const Operation& operation, int threads) {
  const double work = static_cast<double>(kRounds) * kSums * operation.flops;
  const auto nothing = [](int) {};
  return rate(threads, work, nothing, [&](int) { operation.run(); }) / 1e9;
}

double memory_gb_per_s(int threads) {
  const std::size_t bytes = read_by_each_bytes(threads, memory_limits().available_bytes);
  const std::size_t count = bytes / sizeof(std::uint64_t);
  std::vector<std::vector<std::uint64_t>> memory(static_cast<std::size_t>(threads));
  // Pages lie on the node of the thread that touches them first.
  const auto fill = [&](int thread) { memory[static_cast<std::size_t>(thread)].assign(count, 1); };
  const auto read = [&](int thread) {
    // Several sums, because a single one would wait for its own additions.
    std::uint64_t sums[8] = {};
    const std::uint64_t* words = memory[static_cast<std::size_t>(thread)].data();
    for (std::size_t i = 0; i < count; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    }
    asm volatile("" : : "r"(sums) : "memory");
  };
  return rate(threads, static_cast<double>(bytes), fill, read) / 1e9;
}

}  // namespace

std::size_t read_by_each_bytes(int threads, std::uint64_t available_bytes) {
  constexpr std::uint64_t kLine_bytes = 64;
  const std::uint64_t most = available_bytes / 4 / static_cast<std::uint64_t>(threads);
  return std::clamp(most, kLeast_bytes, kMemory_bytes) / kLine_bytes * kLine_bytes;
}

Peaks measure_peaks(int threads) {
  Peaks peaks;
  peaks.threads = threads;
  const Operation fma = fma_operation();
  peaks.instructions = fma.name;
  peaks.fma_gflops = gflops(fma, 1);
  peaks.all_fma_gflops = gflops(fma, peaks.threads);
  if (has_bfloat16_products()) {
    const Operation dot{"AVX512-BF16", dot_bf16, 64};
    peaks.bf16_gflops = gflops(dot, 1);
    peaks.all_bf16_gflops = gflops(dot, peaks.threads);
  }
  peaks.memory_gb_per_s = memory_gb_per_s(1);
  peaks.all_memory_gb_per_s = memory_gb_per_s(peaks.threads);
  return peaks;
}

}  // namespace evener::measure
