#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "plan/planner.h"

namespace evener::plan {
namespace {

/// Speeds nearer than this count as equal however sure they are: the next run's differ by as much.
constexpr double kSame = 0.02;
/// And further apart than this they never do.
constexpr double kDifferent = 0.05;

std::size_t threads_of(const Row& row) {
  std::size_t threads = 0;
  for (const auto& replica : row.plan.replicas) {
    for (const auto& stage : replica.stages) threads += static_cast<std::size_t>(stage.threads);
  }
  return threads;
}

bool simpler(const Row& a, const Row& b) {
  return std::tuple(a.plan.processes.size(), a.plan.replicas.size(), threads_of(a)) <
         std::tuple(b.plan.processes.size(), b.plan.replicas.size(), threads_of(b));
}

bool as_fast(const Row& row, const Row& fastest) {
  const double same = std::clamp(row.noise + fastest.noise, kSame, kDifferent);
  return row.images_per_s >= (1 - same) * fastest.images_per_s;
}

std::string counted(std::size_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

std::string why_simpler(const Row& row, const Row& other) {
  if (row.plan.processes.size() < other.plan.processes.size()) {
    return fmt::format("{} instead of {}", counted(row.plan.processes.size(), "process", "processes"),
                       other.plan.processes.size());
  }
  return fmt::format("{} instead of {}", counted(threads_of(row), "thread", "threads"), threads_of(other));
}

}  // namespace

std::pair<std::size_t, std::string> choose(const std::vector<Row>& rows) {
  std::size_t best = 0, usable = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].refusal.empty()) continue;
    ++usable;
    if (as_fast(rows[i], rows[0]) && simpler(rows[i], rows[best])) best = i;
  }
  const Row& chosen = rows[best];
  if (usable == 1) return {best, fmt::format("{} is the only one that can be used", chosen.text)};
  if (best != 0) {
    return {best, fmt::format("{} is as fast as {} within the noise ({:.0f} % apart), and simpler: {}", chosen.text,
                              rows[0].text, 100 * (1 - chosen.images_per_s / rows[0].images_per_s),
                              why_simpler(chosen, rows[0]))};
  }
  return {best, fmt::format("{} is the fastest, {:.2f} times {}", chosen.text,
                            chosen.images_per_s / rows[1].images_per_s, rows[1].text)};
}

}  // namespace evener::plan
