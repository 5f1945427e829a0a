#include "measure/phase_recorder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace evener::measure {
namespace {

TEST(PhaseRecorder, AddsUpByThreadKind) {
  PhaseRecorder recorder;
  recorder.on_phase(Phase::kForward, true, 0, 500, 300);
  recorder.on_phase(Phase::kForward, true, 600, 700, 100);
  recorder.on_phase(Phase::kDecode, false, 0, 50, 50);
  const PhaseTotals totals = recorder.snapshot();
  EXPECT_EQ(totals.critical[static_cast<int>(Phase::kForward)].ns, 400);
  EXPECT_EQ(totals.critical[static_cast<int>(Phase::kForward)].marks, 2);
  ASSERT_EQ(totals.critical_s().size(), 1u);
  ASSERT_EQ(totals.hidden_s().size(), 1u);
  EXPECT_DOUBLE_EQ(totals.critical_s().at("forward"), 400e-9);
  EXPECT_DOUBLE_EQ(totals.hidden_s().at("decode"), 50e-9);
}

TEST(PhaseRecorder, SinceGivesWhatAnEpochAdded) {
  PhaseRecorder recorder;
  recorder.on_phase(Phase::kForward, true, 0, 10, 10);
  recorder.on_phase(Phase::kDecode, false, 0, 40, 40);
  recorder.on_phase(Phase::kAugment, false, 0, 5, 5);
  const PhaseTotals before = recorder.snapshot();
  recorder.on_phase(Phase::kForward, true, 10, 35, 25);
  recorder.on_phase(Phase::kRead, true, 35, 36, 1);
  recorder.on_phase(Phase::kDecode, false, 40, 43, 3);
  const PhaseTotals added = recorder.snapshot().since(before);
  EXPECT_DOUBLE_EQ(added.critical_s().at("forward"), 25e-9);
  EXPECT_DOUBLE_EQ(added.critical_s().at("read"), 1e-9);
  EXPECT_DOUBLE_EQ(added.hidden_s().at("decode"), 3e-9);
  EXPECT_EQ(added.hidden_s().size(), 1u) << "nothing was augmented";
}

// Through the real marks: exclusive times of nested marks add up to the outer mark, and other threads are hidden.
TEST(PhaseRecorder, HearsMarksOfSeveralThreads) {
  PhaseRecorder recorder;
  std::int64_t outer_begin_ns = 0, outer_end_ns = 0;
  {
    const PhaseListening listening(recorder);
    std::thread([&] {
      mark_critical_thread();
      outer_begin_ns = now_ns();
      {
        const PhaseMark evaluate(Phase::kEvaluate);
        for (int n = 0; n < 3; ++n) const PhaseMark forward(Phase::kForward);
      }
      outer_end_ns = now_ns();
    }).join();
    for (int n = 0; n < 2; ++n) std::thread([] { const PhaseMark decode(Phase::kDecode); }).join();
  }
  { const PhaseMark unheard(Phase::kUpdate); }
  const PhaseTotals totals = recorder.snapshot();
  EXPECT_EQ(totals.critical[static_cast<int>(Phase::kForward)].marks, 3);
  EXPECT_EQ(totals.critical[static_cast<int>(Phase::kEvaluate)].marks, 1);
  EXPECT_EQ(totals.hidden[static_cast<int>(Phase::kDecode)].marks, 2);
  EXPECT_EQ(
      totals.critical[static_cast<int>(Phase::kUpdate)].marks + totals.hidden[static_cast<int>(Phase::kUpdate)].marks,
      0);
  std::int64_t covered_ns = 0;
  for (const auto& sum : totals.critical) covered_ns += sum.ns;
  EXPECT_GT(covered_ns, 0);
  EXPECT_LE(covered_ns, outer_end_ns - outer_begin_ns);
}

TEST(PhaseRecorder, CountsEveryMarkWhileOthersLookOn) {
  PhaseRecorder recorder;
  static constexpr std::int64_t kThreads = 4, kMarks = 20000;
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&] {
      for (int mark = 0; mark < kMarks; ++mark) recorder.on_phase(Phase::kAugment, false, mark, mark + 1, 1);
    });
  }
  std::int64_t last = 0;
  for (int look = 0; look < 50; ++look) {
    const std::int64_t seen = recorder.snapshot().hidden[static_cast<int>(Phase::kAugment)].marks;
    EXPECT_GE(seen, last);
    last = seen;
  }
  for (std::thread& thread : threads) thread.join();
  const PhaseTotals::Sum sum = recorder.snapshot().hidden[static_cast<int>(Phase::kAugment)];
  EXPECT_EQ(sum.marks, kThreads * kMarks);
  EXPECT_EQ(sum.ns, kThreads * kMarks);
}

TEST(PhaseRecorder, ANewRecorderStartsFromZero) {
  for (int n = 0; n < 3; ++n) {  // likely at the same address each time
    PhaseRecorder recorder;
    recorder.on_phase(Phase::kUpdate, true, 0, 7, 7);
    EXPECT_EQ(recorder.snapshot().critical[static_cast<int>(Phase::kUpdate)].ns, 7);
  }
}

TEST(PhaseTrace, IsValidAndNests) {
  const test::TestFolder folder;
  PhaseRecorder recorder(100);
  {
    const PhaseListening listening(recorder);
    mark_critical_thread();
    const PhaseMark evaluate(Phase::kEvaluate);
    const PhaseMark forward(Phase::kForward);
  }
  std::thread([&] { recorder.on_phase(Phase::kDecode, false, now_ns(), now_ns() + 10, 10); }).join();
  recorder.write_trace(folder / "trace.json");
  const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
  std::map<std::string, nlohmann::json> events;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") events[event["name"]] = event;
  }
  ASSERT_EQ(events.size(), 3u);
  const auto begin = [&](const char* name) { return events[name]["ts"].get<double>(); };
  const auto end = [&](const char* name) { return begin(name) + events[name]["dur"].get<double>(); };
  EXPECT_LE(begin("evaluate"), begin("forward"));
  EXPECT_LE(end("forward"), end("evaluate") + 1e-6);
  EXPECT_GE(begin("evaluate"), 0);
  EXPECT_EQ(events["forward"]["tid"], events["evaluate"]["tid"]);
  EXPECT_NE(events["forward"]["tid"], events["decode"]["tid"]);
  EXPECT_EQ(events["decode"]["cat"], "hidden");
}

TEST(PhaseTrace, KeepsNoMoreThanItsCapacityAndSaysSo) {
  const test::TestFolder folder;
  PhaseRecorder recorder(5);
  for (int n = 0; n < 12; ++n) recorder.on_phase(Phase::kRead, true, n, n + 1, 1);
  EXPECT_EQ(recorder.trace_dropped(), 7);
  EXPECT_EQ(recorder.snapshot().critical[static_cast<int>(Phase::kRead)].marks, 12);
  recorder.write_trace(folder / "trace.json");
  const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
  int kept = 0;
  for (const auto& event : trace["traceEvents"]) kept += event["ph"] == "X";
  EXPECT_EQ(kept, 5);
  EXPECT_EQ(trace["otherData"]["dropped_marks"], 7);
}

// A training step makes about ten marks. The cost is printed; only the count is checked.
TEST(PhaseRecorder, PrintsWhatAMarkCosts) {
  PhaseRecorder recorder;
  constexpr int kMarks = 100000;
  const PhaseListening listening(recorder);
  mark_critical_thread();
  const Stopwatch stopwatch;
  for (int n = 0; n < kMarks; ++n) const PhaseMark mark(Phase::kForward);
  std::printf("a recorded mark costs %.0f ns\n", stopwatch.seconds() / kMarks * 1e9);
  EXPECT_EQ(recorder.snapshot().critical[static_cast<int>(Phase::kForward)].marks, kMarks);
}

}  // namespace
}  // namespace evener::measure
