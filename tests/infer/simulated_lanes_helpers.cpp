#include "infer/simulated_lanes_helpers.h"

#include <cmath>
#include <memory>
#include <queue>
#include <tuple>

#include "base/random.h"

namespace evener::test {
namespace {

/// Something that happens to a lane: it is done with a query, or asks what is next.
struct Event {
  double at_s = 0;
  std::int64_t number = 0;  // events of one moment come in the order in which they were made
  int lane = 0;
  bool is_done = false;
  inference::IssuedQuery issued = {};
  inference::Answered answered = {};

  bool operator>(const Event& other) const { return std::tie(at_s, number) > std::tie(other.at_s, other.number); }
};

}  // namespace

inference::LatencyParts SimulatedSystem::answer(int lane, const inference::Query& query) {
  answered.push_back(query);
  took_s_ = service_(lane, query);
  inference::LatencyParts parts;
  parts.compute_s = took_s_;
  return parts;
}

void SimulatedLanes::run(inference::QueryScheduler& scheduler) {
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<int> waiting;  // lanes that go on when another one is done
  std::int64_t number = 0;
  for (int lane = 0; lane < lanes_; ++lane) events.push({.number = number++, .lane = lane});
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    if (event.is_done) {
      scheduler.done(event.lane, event.issued, event.answered);
      events.push({.at_s = event.at_s, .number = number++, .lane = event.lane});
      for (const int lane : waiting) events.push({.at_s = event.at_s, .number = number++, .lane = lane});
      waiting.clear();
      continue;
    }
    inference::NextStep step = scheduler.next(event.lane, event.at_s);
    if (step.kind == inference::NextStep::Kind::kAnswer) {
      inference::Answered answered{.begin_s = event.at_s};
      answered.parts = system_.answer(event.lane, step.issued.query);
      answered.end_s = event.at_s + system_.took_s();
      events.push({answered.end_s, number++, event.lane, true, std::move(step.issued), answered});
    } else if (step.kind == inference::NextStep::Kind::kWait && std::isfinite(step.until_s)) {
      events.push({.at_s = step.until_s, .number = number++, .lane = event.lane});
    } else if (step.kind == inference::NextStep::Kind::kWait) {
      waiting.push_back(event.lane);
    }
  }
}

std::function<double()> exponential_times(double mean_s, std::uint64_t seed) {
  const auto random = std::make_shared<Random>(seed, Purpose::kSynthetic);
  return [random, mean_s] { return -mean_s * std::log1p(-random->uniform()); };
}

}  // namespace evener::test
