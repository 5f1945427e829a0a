// Replaces the entry points of libgomp that LibTorch calls, using teams of our own. The dynamic loader finds these
// before libgomp's, since LibTorch is loaded as a dependency of this module. So the kernels of LibTorch, oneDNN, MKL
// and this module share one team per calling thread. Work is divided as libgomp divides it; only the way in which
// threads wait differs (base/directed_yield.h). Critical sections and atomics, which don't depend on a team, stay
// libgomp's.
//
// The interface: https://gcc.gnu.org/onlinedocs/libgomp/The-libgomp-ABI.html
#include <sched.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "engine/torch/openmp_team.h"

namespace evener::engine::torch_engine::openmp {
namespace {

int available_cpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
  return static_cast<int>(std::thread::hardware_concurrency());
}

int usual_threads() {
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  const int threads = wanted == nullptr ? 0 : std::atoi(wanted);
  return threads > 0 ? threads : available_cpus();
}

int most_threads() {
  static const int usual = usual_threads();
  const int set = position().most_threads;
  return set > 0 ? set : usual;
}

std::unique_ptr<Team>& team_of_thread() {
  thread_local std::unique_ptr<Team> team;
  return team;
}

/// This thread's team. A team that a forked child has inherited is abandoned for a new one, as its workers don't exist
/// in the child.
Team& live_team() {
  std::unique_ptr<Team>& team = team_of_thread();
  [[maybe_unused]] thread_local Team* inherited = nullptr;  // keeps it reachable, lest leak checkers report it
  if (team != nullptr && !team->is_alive()) inherited = team.release();
  if (team == nullptr) team = std::make_unique<Team>();
  return *team;
}

/// Ends a team with more than `threads` threads. Surplus workers would go on waiting for this thread, and give it their
/// CPU whenever it has lost its own, even after it was pinned to another one.
void end_team_of_more_than(int threads) {
  if (position().region != nullptr || team_of_thread() == nullptr) return;
  if (live_team().size() > threads) team_of_thread().reset();
}

/// Runs a region with one thread, which may be nested in another region.
void run_alone(Region& region) {
  Position& here = position();
  const Position before = here;
  region.size = 1;
  here = {.region = &region, .is_parallel = before.is_parallel, .most_threads = before.most_threads};
  region.body(region.data);
  here = before;
}

bool next_piece(long* first, long* last) {
  Position& here = position();
  if (here.turn >= 0) here.share->end_turn(here.turn);
  long turn = -1;
  const bool has_piece = here.share->take(first, last, &turn);
  here.turn = has_piece ? turn : -1;
  return has_piece;
}

void begin_share(long begin, long end, long step, long chunk) {
  Position& here = position();
  thread_local std::unique_ptr<WorkShare> outside;  // of all regions
  if (here.region == nullptr) outside = std::make_unique<WorkShare>();
  here.share = here.region == nullptr ? outside.get() : &here.region->share(here.shares++);
  here.share->begin(begin, end, step, chunk);
  here.turn = -1;
}

void barrier() {
  const Position& here = position();
  if (here.team != nullptr) here.team->barrier(here.member, *here.region);
}

}  // namespace
}  // namespace evener::engine::torch_engine::openmp

namespace omp = evener::engine::torch_engine::openmp;

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-declarations"  // no header of ours declares them
extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  omp::Region region;
  region.body = body;
  region.data = data;
  region.most_threads = omp::most_threads();
  region.size = threads > 0 ? static_cast<int>(threads) : region.most_threads;
  if (region.size > 1 && !omp::position().is_parallel) {
    omp::live_team().run(region);
  } else {
    omp::run_alone(region);
  }
}

void GOMP_barrier() {
  omp::barrier();
}

bool GOMP_single_start() {
  omp::Position& here = omp::position();
  if (here.region == nullptr) return true;
  int mine = here.singles++;
  return here.region->singles.compare_exchange_strong(mine, mine + 1);
}

bool GOMP_loop_dynamic_next(long* first, long* last) {
  const bool has_piece = omp::position().share->take(first, last, &omp::position().turn);
  omp::position().turn = -1;
  return has_piece;
}
bool GOMP_loop_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last) {
  omp::begin_share(begin, end, step, chunk);
  return GOMP_loop_dynamic_next(first, last);
}
bool GOMP_loop_ordered_dynamic_next(long* first, long* last) {
  return omp::next_piece(first, last);
}
bool GOMP_loop_ordered_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last) {
  omp::begin_share(begin, end, step, chunk);
  return omp::next_piece(first, last);
}
void GOMP_ordered_start() {
  const omp::Position& here = omp::position();
  if (here.turn >= 0) here.share->await_turn(here.turn);
}
void GOMP_ordered_end() {}
void GOMP_loop_end_nowait() {}
void GOMP_loop_end() {
  omp::barrier();
}

unsigned GOMP_sections_next() {
  long section = 0, end = 0, turn = 0;
  return omp::position().share->take(&section, &end, &turn) ? static_cast<unsigned>(section) : 0;
}
unsigned GOMP_sections_start(unsigned count) {
  omp::begin_share(1, static_cast<long>(count) + 1, 1, 1);
  return GOMP_sections_next();
}
void GOMP_sections_end_nowait() {}

int omp_get_thread_num() {
  return omp::position().member;
}
int omp_get_num_threads() {
  const omp::Position& here = omp::position();
  return here.region == nullptr ? 1 : here.region->size;
}
int omp_get_max_threads() {
  return omp::most_threads();
}
int omp_get_num_procs() {
  return omp::available_cpus();
}
int omp_in_parallel() {
  return omp::position().is_parallel ? 1 : 0;
}
void omp_set_num_threads(int threads) {
  if (threads <= 0) return;
  omp::position().most_threads = threads;
  omp::end_team_of_more_than(threads);
}

}  // extern "C"
#pragma GCC visibility pop
