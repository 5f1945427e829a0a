#include "report/ways.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "report/figures.h"

namespace evener::report {
namespace {

using record::Record;

/// "--lr 0.1", "no --nesterov"; "" for lists and objects.
std::string option_text(const std::string& name, const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json);
  if (value.is_boolean()) return (value.get<bool>() ? "--" : "no --") + name;
  if (value.is_null()) return "no --" + name;
  if (value.is_structured()) return "";
  return "--" + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
}

/// The first two options (by name) whose values differ: " with --lr 0.1 and --momentum 0.9".
std::string other_options(const Record& record, const Record& other) {
  // Options that are described in other words, and --resume, which doesn't change the work.
  static const std::set<std::string> left_out = {"batch", "engine", "normalize", "on", "precision", "resume"};
  constexpr int kMostShown = 2;
  std::string text;
  int shown = 0;
  for (const auto& [name, value] : record.config) {
    if (left_out.contains(name) || shown == kMostShown) continue;
    if (const auto of_other = other.config.find(name); of_other == other.config.end() || of_other->second == value) {
      continue;
    }
    const std::string option = option_text(name, value);
    if (option.empty()) continue;
    text += (shown++ == 0 ? " with " : " and ") + option;
  }
  return text;
}

}  // namespace

std::string way_text(const Record& record, const Record& other) {
  std::string text = record.placement.text;
  if (record.precision != other.precision) text += " in " + record.precision;
  if (record.batch != other.batch && record.batch) text += fmt::format(" with batch {}", *record.batch);
  if (record.engine != other.engine) text += " by " + record.engine;
  return text == other.placement.text ? text + other_options(record, other) : text;
}

std::vector<std::string> ways_of(const std::vector<const Run*>& group) {
  std::vector<std::string> ways;
  for (const Run* run : group) {
    std::string longest = run->record.placement.text;
    for (const Run* other : group) {
      // Comparisons with runs on the same placement also give the options that differ.
      std::string way = way_text(run->record, other->record);
      if (way.size() > longest.size()) longest = std::move(way);
    }
    ways.push_back(std::move(longest));
  }
  const bool unique = std::set<std::string>(ways.begin(), ways.end()).size() == ways.size();
  for (std::size_t i = 0; i < group.size() && !unique; ++i) ways[i] += " (" + group[i]->name + ")";
  return ways;
}

std::vector<std::string> labels_of(std::span<const Run> runs) {
  std::vector<std::string> labels(runs.size());
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    std::vector<const Run*> group;
    for (const std::size_t n : job) group.push_back(&runs[n]);
    const std::vector<std::string> ways = ways_of(group);
    for (std::size_t i = 0; i < job.size(); ++i) labels[job[i]] = ways[i];
  }
  return labels;
}

}  // namespace evener::report
