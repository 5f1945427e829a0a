// The entry points that compilers call for OpenMP, on our own teams. They are compiled into the test program.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
bool GOMP_single_start();
bool GOMP_loop_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last);
bool GOMP_loop_dynamic_next(long* first, long* last);
bool GOMP_loop_ordered_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last);
bool GOMP_loop_ordered_dynamic_next(long* first, long* last);
void GOMP_ordered_start();
void GOMP_ordered_end();
void GOMP_loop_end();
unsigned GOMP_sections_start(unsigned count);
unsigned GOMP_sections_next();
void GOMP_sections_end_nowait();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_in_parallel();
void omp_set_num_threads(int threads);
}

namespace evener::engine {
namespace {

template <class Body>
void in_parallel(unsigned threads, const Body& body) {
  GOMP_parallel([](void* data) { (*static_cast<const Body*>(data))(); }, const_cast<Body*>(&body), threads, 0);
}

TEST(OpenMp, EveryThreadOfARegionHasItsNumber) {
  for (const unsigned threads : {1U, 4U, 2U, 3U}) {
    std::vector<std::atomic<int>> seen(threads);
    in_parallel(threads, [&] {
      EXPECT_EQ(omp_get_num_threads(), static_cast<int>(threads));
      EXPECT_EQ(omp_in_parallel(), threads > 1 ? 1 : 0);
      ++seen[static_cast<std::size_t>(omp_get_thread_num())];
    });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
    EXPECT_EQ(omp_in_parallel(), 0);
    EXPECT_EQ(omp_get_num_threads(), 1);
  }
}

TEST(OpenMp, TheNumberOfThreadsBelongsToTheThreadThatSetIt) {
  std::thread([] {
    omp_set_num_threads(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    int threads = 0;
    in_parallel(0, [&] {
      if (omp_get_thread_num() == 0) threads = omp_get_num_threads();
      EXPECT_EQ(omp_get_max_threads(), 3);
    });
    EXPECT_EQ(threads, 3);
    std::thread([] { EXPECT_EQ(omp_get_max_threads() == 3, std::thread::hardware_concurrency() == 3); }).join();
  }).join();
}

/// Of the threads with these numbers, how many there are.
std::ptrdiff_t living(const std::set<pid_t>& threads) {
  return std::ranges::count_if(
      threads, [](pid_t thread) { return std::filesystem::exists("/proc/self/task/" + std::to_string(thread)); });
}

/// A thread that has been joined may still be listed for a moment.
bool all_end(const std::set<pid_t>& threads) {
  for (int look = 0; look < 20000 && living(threads) > 0; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return living(threads) == 0;
}

// Idle ones would go on to give their CPUs to a thread that has been bound to another one since.
TEST(OpenMp, WorkersThatAreWantedNoMoreEnd) {
  std::thread([] {
    std::mutex mutex;
    std::set<pid_t> workers;
    in_parallel(3, [&] {
      if (omp_get_thread_num() == 0) return;
      const std::lock_guard lock(mutex);
      workers.insert(gettid());
    });
    ASSERT_EQ(workers.size(), 2U);
    omp_set_num_threads(3);
    in_parallel(2, [] { omp_set_num_threads(1); });  // a region needs its threads
    EXPECT_EQ(living(workers), 2);
    omp_set_num_threads(2);
    EXPECT_TRUE(all_end(workers));
    std::atomic<int> ran{0};
    in_parallel(3, [&] { ++ran; });
    EXPECT_EQ(ran, 3);
  }).join();
}

TEST(OpenMp, ARegionWithinARegionHasOneThread) {
  std::atomic<int> inner{0};
  in_parallel(2, [&] {
    in_parallel(2, [&] {
      EXPECT_EQ(omp_get_num_threads(), 1);
      EXPECT_EQ(omp_get_thread_num(), 0);
      EXPECT_EQ(omp_in_parallel(), 1);
      GOMP_barrier();
      ++inner;
    });
    EXPECT_EQ(omp_get_num_threads(), 2);
  });
  EXPECT_EQ(inner, 2);
}

TEST(OpenMp, BarriersHoldEveryThreadAndOneDoesWhatIsForOne) {
  std::atomic<int> come{0}, singles{0};
  in_parallel(3, [&] {
    for (int round = 1; round <= 200; ++round) {
      ++come;
      GOMP_barrier();
      EXPECT_EQ(come, 3 * round);
      if (GOMP_single_start()) ++singles;
      GOMP_barrier();
    }
  });
  EXPECT_EQ(singles, 200);
}

TEST(OpenMp, DynamicLoopsGiveEachIterationOnce) {
  for (const auto& [begin, end, step, chunk] :
       std::vector<std::array<long, 4>>{{0, 100, 1, 7}, {3, 50, 4, 2}, {20, -5, -3, 2}, {5, 5, 1, 1}}) {
    std::vector<long> expected;
    for (long i = begin; step > 0 ? i < end : i > end; i += step) expected.push_back(i);
    std::mutex mutex;
    std::multiset<long> done;
    const auto body = [&] {
      for (int loop = 0; loop < 2; ++loop) {  // two loops one after the other, which threads may come to apart
        long first = 0, last = 0;
        for (bool more = GOMP_loop_dynamic_start(begin, end, step, chunk, &first, &last); more;
             more = GOMP_loop_dynamic_next(&first, &last)) {
          const std::lock_guard lock(mutex);
          for (long i = first; step > 0 ? i < last : i > last; i += step) done.insert(i);
        }
      }
      GOMP_loop_end();
    };
    in_parallel(3, body);
    for (const long i : expected) EXPECT_EQ(done.count(i), 2U);
    EXPECT_EQ(done.size(), 2 * expected.size());
    done.clear();
    body();  // outside of all regions
    EXPECT_EQ(done.size(), 2 * expected.size());
  }
}

TEST(OpenMp, OrderedPiecesComeInTheirOrder) {
  std::vector<long> expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  expected.erase(expected.begin() + 10, expected.begin() + 12);
  for (int round = 0; round < 100; ++round) {  // turns that nothing guards go wrong, or are seen to race, now and then
    std::vector<long> order;
    in_parallel(3, [&] {
      long first = 0, last = 0;
      for (bool more = GOMP_loop_ordered_dynamic_start(0, 40, 1, 2, &first, &last); more;
           more = GOMP_loop_ordered_dynamic_next(&first, &last)) {
        if (first == 10) continue;  // a piece whose ordered part is skipped holds nobody up
        GOMP_ordered_start();
        for (long i = first; i < last; ++i) order.push_back(i);
        GOMP_ordered_end();
      }
      GOMP_loop_end();
    });
    ASSERT_EQ(order, expected);
  }
}

TEST(OpenMp, EachSectionIsDoneOnce) {
  std::vector<std::atomic<int>> done(6);
  in_parallel(3, [&] {
    for (unsigned section = GOMP_sections_start(5); section != 0; section = GOMP_sections_next()) ++done[section];
    GOMP_sections_end_nowait();
  });
  EXPECT_EQ(done[0], 0);
  for (std::size_t i = 1; i < done.size(); ++i) EXPECT_EQ(done[i], 1);
}

TEST(OpenMp, ThreadsHaveTeamsOfTheirOwn) {
  std::vector<std::thread> callers;
  std::atomic<int> work{0};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int region = 0; region < 200; ++region) in_parallel(2, [&] { ++work; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(work, 3 * 200 * 2);
}

#ifndef __SANITIZE_THREAD__  // which forbids threads in children of a process with threads
TEST(OpenMp, AForkedChildStartsWorkersOfItsOwn) {
  in_parallel(2, [] {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> work{0};
    in_parallel(2, [&] { ++work; });
    _exit(work == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace evener::engine
