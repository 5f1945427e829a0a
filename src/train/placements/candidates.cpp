#include "train/placements/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::training {
namespace {

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

/// 1, 2, 4, ... below `cores`, and `cores`.
std::vector<int> powers_up_to(int cores) {
  std::vector<int> counts;
  for (int count = 1; count < cores; count *= 2) counts.push_back(count);
  counts.push_back(cores);
  return counts;
}

/// The first line, which says what is wrong; the others point at the character.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<std::string> usual_placements(const placement::Machine& machine) {
  std::vector<std::string> texts;
  const std::vector<int> counts = powers_up_to(machine.cores);
  for (const int threads : counts) texts.push_back(fmt::format("cpu/t{}", threads));
  // Threads that do equal pieces are as fast as the slowest.
  if (const auto fastest = placement::fastest_cores(machine)) add_once(texts, fmt::format("cpu/t{}", *fastest));
  for (const int replicas : counts) {
    if (replicas > 1) texts.push_back(fmt::format("{}xcpu/t{}", replicas, machine.cores / replicas));
  }
  for (const int replicas : counts) {
    if (machine.cores < 2 * replicas) break;
    const int threads = machine.cores / replicas / 2;
    texts.push_back(
        fmt::format("{}cpu/t{}..cpu/t{}", replicas > 1 ? fmt::format("{}x", replicas) : "", threads, threads));
  }
  const std::size_t gpus = machine.cuda.devices.size();
  if (gpus > 0) texts.insert(texts.end(), {"cuda:0", "cuda:0+cpu"});
  if (gpus > 1) texts.emplace_back("cuda:all");
  return texts;
}

std::vector<std::string> placements_of(const std::string& list, const placement::Machine& machine) {
  std::vector<std::string> texts;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const placement::Placement parsed = placement::parse(part);
    if (parsed.automatic) {
      for (const std::string& text : usual_placements(machine)) add_once(texts, text);
    } else {
      add_once(texts, placement::to_text(parsed));
    }
  }
  if (texts.empty() || list.ends_with(',')) {
    throw UsageError("--on '" + list + "' has an empty placement; it is a list such as cpu/t1,cpu/t2,2xcpu/t1");
  }
  return texts;
}

Candidate resolve(const std::string& text, const placement::Machine& machine, const placement::PlanOptions& options) {
  try {
    return {.text = text, .plan = placement::make_plan(placement::parse(text), machine, options), .refusal = {}};
  } catch (const UsageError& error) {
    return {.text = text, .plan = std::nullopt, .refusal = first_line(error.what())};
  }
}

std::vector<Candidate> in_precisions(const std::vector<Candidate>& candidates,
                                     const std::vector<std::optional<Precision>>& precisions) {
  std::vector<Candidate> all;
  for (const std::optional<Precision>& precision : precisions) {
    for (Candidate candidate : candidates) {
      candidate.precision = precision;
      all.push_back(std::move(candidate));
    }
  }
  return all;
}

std::string kind_of(const placement::PlanReplica& replica) {
  std::string text;
  for (const auto& stage : replica.stages) {
    if (!text.empty()) text += "..";
    text += device_text(stage.device);
    if (stage.device.kind == DeviceKind::kCpu) text += fmt::format("/t{}", stage.threads);
    if (stage.factor < 1) text += fmt::format("@{:g}", stage.factor);
  }
  return text;
}

placement::Plan plan_alone(const placement::Plan& plan, const placement::PlanReplica& replica) {
  placement::Plan alone = plan;
  alone.text = kind_of(replica);
  alone.replicas = {replica};
  alone.replicas.front().rank = 0;
  alone.replicas.front().share = 1;
  alone.processes = {{{0}}};
  return alone;
}

}  // namespace evener::training
