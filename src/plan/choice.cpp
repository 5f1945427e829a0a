#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/plural.h"
#include "plan/pipelines.h"
#include "plan/planner.h"

namespace evener::plan {
namespace {

/// Speeds that differ by less count as equal however precise they are, because the next run may differ by as much.
constexpr double kSame = 0.02;
/// A simpler placement is preferred only if it is slower by less than this share.
constexpr double kNearly = 0.05;
/// The noise assumed where it is unknown: typical errors of predictions and of single rounds.
constexpr double kUnknownNoise = 0.15;

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

/// The share by which two equally fast placements may seem to differ.
double noise_between(const Row& a, const Row& b) {
  return std::hypot(a.noise.value_or(kUnknownNoise), b.noise.value_or(kUnknownNoise));
}

double loss_against(const Row& row, const Row& fastest) {
  return 1 - row.images_per_s / fastest.images_per_s;
}

bool nearly_as_fast(const Row& row, const Row& fastest) {
  return loss_against(row, fastest) <= std::clamp(noise_between(row, fastest), kSame, kNearly);
}

std::string why_simpler(const Row& row, const Row& other) {
  if (row.plan.processes.size() < other.plan.processes.size()) {
    return fmt::format("{} instead of {}", counted(row.plan.processes.size(), "process", "processes"),
                       other.plan.processes.size());
  }
  return fmt::format("{} instead of {}", counted(threads_of(row), "thread"), threads_of(other));
}

}  // namespace

bool faster_than_noise(const Row& row, const Row& other) {
  return loss_against(other, row) > std::max(noise_between(other, row), kSame);
}

/// If the fastest row has stages and a row without may be as fast, the choice among all rows without stages.
static std::optional<RowChoice> choice_without_stages(const std::vector<Row>& rows) {
  if (!is_staged(rows[0])) return {};
  std::vector<Row> others;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].refusal.empty() || is_staged(rows[i])) continue;
    others.push_back(rows[i]);
    places.push_back(i);
  }
  if (others.empty() || faster_than_noise(rows[0], others[0])) return {};
  RowChoice choice = choose(others);
  choice.row = places[choice.row];
  choice.decided = false;
  choice.reason += fmt::format(" without stages; {} was no faster than the noise of +-{:.0f} %", rows[0].text,
                               100 * noise_between(rows[0], others[0]));
  return choice;
}

RowChoice choose(const std::vector<Row>& rows) {
  if (auto choice = choice_without_stages(rows)) return *choice;
  const Row& fastest = rows[0];
  std::size_t best = 0, usable = 0;
  const Row* rival = nullptr;  // the fastest row that may be as fast as rows[0] within the noise
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].refusal.empty()) continue;
    ++usable;
    if (nearly_as_fast(rows[i], fastest) && simpler(rows[i], rows[best])) best = i;
    if (i > 0 && !faster_than_noise(fastest, rows[i]) && rival == nullptr) rival = &rows[i];
  }
  const Row& chosen = rows[best];
  if (usable == 1) return {best, fmt::format("{} is the only one that can be used", chosen.text), true};
  if (best != 0) {
    return {best,
            fmt::format("{} is as fast as {} within the noise ({:.0f} % apart), and simpler: {}", chosen.text,
                        fastest.text, 100 * loss_against(chosen, fastest), why_simpler(chosen, fastest)),
            false};
  }
  if (rival != nullptr) {
    return {best,
            fmt::format("{} is taken, {:.2f} times {} as far as was measured, but the noise of +-{:.0f} % leaves open "
                        "which is faster; --seconds more, or a quieter machine, would tell",
                        chosen.text, chosen.images_per_s / rival->images_per_s, rival->text,
                        100 * noise_between(*rival, chosen)),
            false};
  }
  return {best,
          fmt::format("{} is the fastest, {:.2f} times {}", chosen.text, chosen.images_per_s / rows[1].images_per_s,
                      rows[1].text),
          true};
}

}  // namespace evener::plan
