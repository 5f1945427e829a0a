// Runs a test's body once per rank, in threads of this process or in processes forked from it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "comm/shared_group.h"

namespace evener::test {

enum class RanksAre { kThreads, kProcesses };

/// "threads" or "processes".
const char* text_of(RanksAre how);

/// A group whose collectives give up in good time and, unless told otherwise, go in many pieces.
comm::SharedGroupOptions group_options(int ranks, std::size_t staging_bytes = 256, int channels = 1);

/// Forked processes, one per rank; what is left of them is killed with the object.
class RankProcesses {
 public:
  RankProcesses(int ranks, const std::function<void(int rank)>& body);
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }
  /// Waits for a rank's end: true if it ended in time, by itself, and no expectation failed in it.
  bool good_end(int rank);

 private:
  std::vector<pid_t> pids_;  // 0 = has ended
};

/// The body's expectations count wherever it runs; an exception out of it is a failure.
void run_ranks(RanksAre how, int ranks, const std::function<void(int rank)>& body);

/// The message of the Error that `work` throws; a failure and "" if it throws none.
std::string error_of(const std::function<void()>& work);

/// Polls until `come`; a failure if that takes too long.
void wait_until(const std::function<bool()>& come);

/// Not representable in a few bits, different for each rank and position, and of both signs: a mean, a missing rank, a
/// shifted piece or another order of adding changes the sum's bits.
float value_of(int rank, std::size_t position);
/// The sum in the order of `ranks`.
float sum_of(const std::vector<int>& ranks, std::size_t position);

std::vector<float> values_of(int rank, std::size_t size);
std::vector<float> sums_of(const std::vector<int>& ranks, std::size_t size);

}  // namespace evener::test
