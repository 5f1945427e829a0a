#include "comm/ranks_helpers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <thread>

#include "base/error.h"

namespace evener::test {

namespace {

constexpr std::chrono::seconds kLongest{60};  // far more than any of these tests takes

void run_body(const std::function<void(int)>& body, int rank) {
  try {
    body(rank);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << rank << " threw: " << error.what();
  }
}

[[noreturn]] void be_rank(const std::function<void(int)>& body, int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  run_body(body, rank);
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

bool poll(const std::function<bool()>& come) {
  const auto begin = std::chrono::steady_clock::now();
  while (!come()) {
    if (std::chrono::steady_clock::now() - begin > kLongest) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

const char* text_of(RanksAre how) {
  return how == RanksAre::kThreads ? "threads" : "processes";
}

comm::SharedGroupOptions group_options(int ranks, std::size_t staging_bytes, int channels) {
  comm::SharedGroupOptions options;
  options.ranks = ranks;
  options.channels = channels;
  options.staging_bytes = staging_bytes;
  options.timeout = std::chrono::seconds(40);
  return options;
}

RankProcesses::RankProcesses(int ranks, const std::function<void(int)>& body) {
  std::fflush(nullptr);  // or each child would write it again
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) be_rank(body, rank);
    pids_.push_back(pid);
  }
}

RankProcesses::~RankProcesses() {
  for (const pid_t pid : pids_) {
    if (pid <= 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

bool RankProcesses::good_end(int rank) {
  pid_t& pid = pids_[static_cast<std::size_t>(rank)];
  int status = 0;
  if (!poll([&] { return waitpid(pid, &status, WNOHANG) == pid; })) return false;
  pid = 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void run_ranks(RanksAre how, int ranks, const std::function<void(int)>& body) {
  if (how == RanksAre::kProcesses) {
    RankProcesses processes(ranks, body);
    for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(processes.good_end(rank)) << "rank " << rank;
    return;
  }
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { run_body(body, rank); });
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

void wait_until(const std::function<bool()>& come) {
  EXPECT_TRUE(poll(come)) << "waited in vain";
}

float value_of(int rank, std::size_t position) {
  const auto mixed = static_cast<std::uint32_t>(position * 7919 + static_cast<std::size_t>(rank) * 104729 + 1);
  const float value = static_cast<float>(mixed * 2654435761U >> 8) / 65536.0F + 0.1F * static_cast<float>(rank + 1);
  return (position + static_cast<std::size_t>(rank)) % 3 == 0 ? -value : value;
}

float sum_of(const std::vector<int>& ranks, std::size_t position) {
  float sum = value_of(ranks.at(0), position);
  for (std::size_t i = 1; i < ranks.size(); ++i) sum += value_of(ranks[i], position);
  return sum;
}

std::vector<float> values_of(int rank, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = value_of(rank, i);
  return values;
}

std::vector<float> sums_of(const std::vector<int>& ranks, std::size_t size) {
  std::vector<float> sums(size);
  for (std::size_t i = 0; i < size; ++i) sums[i] = sum_of(ranks, i);
  return sums;
}

}  // namespace evener::test
