#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/plural.h"
#include "base/terminal_text.h"
#include "infer/inference.h"
#include "infer/run/layer_table.h"
#include "record/statistics.h"
#include "report/format.h"
#include "report/table.h"

namespace evener::inference {
namespace {

constexpr std::size_t kMostClassesShown = 20, kMostConfusions = 5, kMostMistakesShown = 5;

/// As std::views::take, whose headers clang 14 can't read.
template <class Value>
std::span<const Value> first_of(const std::vector<Value>& all, std::size_t most) {
  return std::span(all).first(std::min(all.size(), most));
}

std::string hit_share(std::int64_t hits, std::int64_t count) {
  const double share = static_cast<double>(hits) / static_cast<double>(count);
  return fmt::format("{:.2f} % (95 %: {})", 100 * share, record::share_interval_text(share, count));
}

/// A class, how many images of it there were, and how many were recognised.
struct ClassCount {
  std::string name;
  std::int64_t images = 0, right = 0;

  double share() const { return static_cast<double>(right) / static_cast<double>(images); }
};

/// The classes that were recognised worst come first.
void add_classes(const Scores& scores, const std::vector<std::string>& names, std::string& text) {
  if (scores.confusion.empty()) return;  // too many, or without names
  std::vector<ClassCount> classes;
  for (std::size_t i = 0; i < scores.confusion.size(); ++i) {
    const std::vector<std::int64_t>& row = scores.confusion[i];
    const std::int64_t images = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    if (images > 0) classes.push_back({one_line(names[i]), images, row[i]});
  }
  std::ranges::stable_sort(classes, {}, &ClassCount::share);
  report::Table table;
  table.columns = {{"class", false}, {"images", true}, {"right", true}, {"share", false}};
  for (const ClassCount& one : first_of(classes, kMostClassesShown)) {
    table.rows.push_back(
        {one.name, std::to_string(one.images), std::to_string(one.right), hit_share(one.right, one.images)});
  }
  text += fmt::format("\n{}", report::terminal_text(table));
  if (classes.size() > kMostClassesShown) {
    text +=
        fmt::format("{} more, recognised better\n", counted(classes.size() - kMostClassesShown, "class", "classes"));
  }
}

/// Pairs of classes that were taken for each other most often.
void add_confusions(const Scores& scores, const std::vector<std::string>& names, std::string& text) {
  struct Confusion {
    std::int64_t images, of;
    std::size_t truth, found;
  };
  std::vector<Confusion> all;
  for (std::size_t row = 0; row < scores.confusion.size(); ++row) {
    const auto& counts = scores.confusion[row];
    const std::int64_t of = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    for (std::size_t column = 0; column < counts.size(); ++column) {
      if (row != column && counts[column] > 0) all.push_back({counts[column], of, row, column});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Confusion::images);
  for (const Confusion& one : first_of(all, kMostConfusions)) {
    text += fmt::format("{} taken for {}: {} of {}\n", one_line(names[one.truth]), one_line(names[one.found]),
                        one.images, one.of);
  }
}

void add_mistakes(const InferenceRun& run, std::string& text) {
  if (run.scores.mistakes.empty()) return;
  text += fmt::format("\nthe surest mistakes\n");
  for (const Mistake& mistake : first_of(run.scores.mistakes, kMostMistakesShown)) {
    const std::string score = std::isnan(mistake.score) ? "no number"
                              : run.scores_are_logits   ? fmt::format("{:.4g}", mistake.score)
                                                        : fmt::format("{:.1f} %", 100 * mistake.score);
    text += fmt::format("  {}  is {}, taken for {} ({})\n", one_line(mistake.file), one_line(mistake.truth),
                        one_line(mistake.found), score);
  }
}

void add_sorted(const PhotoSorter& sorter, std::string& text) {
  std::string moved;
  for (const auto& [folder, photos] : sorter.added()) {
    moved += fmt::format("{}{} into {}", moved.empty() ? "" : ", ", photos, one_line(folder));
  }
  if (moved.empty()) moved = "no new photo";
  if (sorter.there() > 0) moved += fmt::format("; {} were there already, and stay where they are", sorter.there());
  text += fmt::format("sorted                    {} ({})\n", moved, sorter.out().string());
}

}  // namespace

std::string inference_text(const InferenceRun& run) {
  std::string text = layers_text(run.record);
  const Scores& scores = run.scores;
  if (scores.images > 0) {
    if (!run.seen.empty()) text += fmt::format("seen                      {}\n", run.seen);
    text += fmt::format("accuracy                  {}, {} of {} images\n", hit_share(scores.correct, scores.images),
                        scores.correct, scores.images);
    if (scores.classes > 5) {
      text += fmt::format("among the first five      {:.2f} %\n",
                          100 * static_cast<double>(scores.correct_in_five) / static_cast<double>(scores.images));
    }
    add_classes(scores, run.record.data.classes, text);
    add_confusions(scores, run.record.data.classes, text);
    add_mistakes(run, text);
  }
  if (run.unknown.images > 0) {
    text += fmt::format("unknown                   {} of {}: like nothing that it was trained on\n",
                        run.unknown.unknown, counted(run.unknown.images, "image"));
  }
  if (run.sorted) add_sorted(*run.sorted, text);
  return text;
}

}  // namespace evener::inference
