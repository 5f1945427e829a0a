#include "task/inference/class_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"

namespace evener::task {
namespace {

constexpr std::int64_t kUnknown = -1;
constexpr const char* kRaw = "--outputs raw --out DIR writes what the network gives of each image";

bool is_number_of_a_class(const NetworkOutput& output) {
  return output.type.starts_with("i64") || output.type.starts_with("i32") || output.type.starts_with("u64") ||
         output.type.starts_with("u32");
}

/// The number of values of an output that is a row; 0 = it is no row, kUnknown = the number isn't known.
std::int64_t row_of(const NetworkOutput& output) {
  if (!output.rank_is_known) return kUnknown;
  std::int64_t row = 1;
  for (const std::int64_t extent : output.shape) {
    if (extent == 1) continue;
    if (row != 1) return 0;
    row = extent;
  }
  return row;
}

/// Values that may be a score for each class: a row, but not one of things of which other outputs tell more, as a
/// detector's scores and boxes do.
std::int64_t classes_of(const std::vector<NetworkOutput>& outputs, std::size_t index, std::size_t labels) {
  const NetworkOutput& output = outputs[index];
  const std::int64_t row = row_of(output);
  if (row == 0 || row == 1 || is_number_of_a_class(output)) return 0;
  if (row == kUnknown || row == static_cast<std::int64_t>(labels)) return row;
  const bool is_column = output.shape.size() == 2 && output.shape.back() == 1;
  const bool has_more = std::ranges::any_of(outputs, [&](const NetworkOutput& other) {
    return row_of(other) == 0 && std::ranges::find(other.shape, row) != other.shape.end();
  });
  return is_column || has_more ? 0 : row;
}

std::string all_text(const std::vector<NetworkOutput>& outputs) {
  constexpr std::size_t kMostTold = 9;
  std::vector<std::string> texts;
  std::ranges::transform(outputs.begin(),
                         outputs.begin() + static_cast<std::ptrdiff_t>(std::min(outputs.size(), kMostTold)),
                         std::back_inserter(texts), output_text);
  return fmt::format("{}{}", fmt::join(texts, ", "),
                     outputs.size() > kMostTold ? fmt::format(" and {} more", outputs.size() - kMostTold) : "");
}

/// The result where no output is a row of values.
ClassOutput without_row(const std::vector<NetworkOutput>& outputs, const std::vector<std::size_t>& asked,
                        std::size_t labels) {
  ClassOutput chosen{.index = asked.front()};
  for (const std::size_t index : asked) {
    const NetworkOutput& output = outputs[index];
    if (row_of(output) != 1) continue;
    chosen.index = index;
    if (is_number_of_a_class(output)) {
      chosen.refusal = fmt::format(
          "its output '{}' is the number of the class that was found, without a score: how sure that is and what comes "
          "second can't be told. Export the network without the ArgMax at its end; or {}",
          printable(output.name), kRaw);
      return chosen;
    }
    chosen.from_one_value = labels == 2;
    chosen.classes = labels == 2 ? 2 : 1;
    if (labels == 2) return chosen;
    chosen.refusal = fmt::format(
        "its output {} is one value for each image, which tells two classes apart: name them with --labels FILE, first "
        "the one of values near 0; or {}",
        output_text(output), kRaw);
    return chosen;
  }
  chosen.refusal = fmt::format("{} {} can't be classes, of which each image has one row of scores: {}",
                               asked.size() == 1 ? "its output" : "its outputs",
                               asked.size() == 1 ? output_text(outputs[asked.front()]) : all_text(outputs), kRaw);
  return chosen;
}

}  // namespace

std::string open_shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : "x") + (extent < 0 ? std::string("?") : std::to_string(extent));
  }
  return text;
}

std::string output_text(const NetworkOutput& output) {
  const std::string shape = !output.rank_is_known  ? "of any shape"
                            : output.shape.empty() ? "of one value"
                                                   : open_shape_text(output.shape);
  return fmt::format("'{}' {}", printable(output.name), shape);
}

ClassOutput choose_class_output(const std::vector<NetworkOutput>& outputs, std::size_t labels,
                                const std::string& wanted) {
  std::vector<std::size_t> asked;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    names.push_back(outputs[i].name);
    if (wanted.empty() || outputs[i].name == wanted) asked.push_back(i);
  }
  if (asked.empty()) throw UsageError(unknown_name_message("output", wanted, names));
  std::vector<std::size_t> rows, fitting;
  for (const std::size_t index : asked) {
    const std::int64_t classes = wanted.empty() ? classes_of(outputs, index, labels) : row_of(outputs[index]);
    if (classes == 0 || classes == 1 || is_number_of_a_class(outputs[index])) continue;
    rows.push_back(index);
    if (classes == static_cast<std::int64_t>(labels)) fitting.push_back(index);
  }
  if (rows.empty()) return without_row(outputs, asked, labels);
  const std::size_t taken = fitting.empty() ? rows.front() : fitting.front();
  ClassOutput chosen{.index = taken, .classes = row_of(outputs[taken])};
  if (asked.size() == 1) return chosen;
  const bool is_plain = fitting.size() == 1 || rows.size() == 1;
  chosen.note =
      fmt::format("of the outputs {} classes are told by '{}', {}", all_text(outputs), printable(outputs[taken].name),
                  fitting.size() == 1 ? "which has as many values as there are names"
                  : is_plain          ? "the only row of values"
                                      : "the first that fits; --output-name NAME takes another");
  return chosen;
}

std::string label_mismatch(const ClassOutput& chosen, const NetworkOutput& output,
                           const std::vector<std::string>& labels) {
  const auto names = static_cast<std::int64_t>(labels.size());
  if (labels.empty() || chosen.classes < 2 || chosen.classes == names) return "";
  std::string text = fmt::format("{} for the {} of output {}", counted(names, "name"),
                                 counted(chosen.classes, "class", "classes"), output_text(output));
  if (names == chosen.classes + 1) {
    text += fmt::format("; if the first, {}, is no class of the network (a background), leave out its line",
                        quoted_text(labels.front()));
  } else if (names + 1 == chosen.classes) {
    text += "; if the network has a background first, put a line 'background' before the names";
  }
  return text;
}

}  // namespace evener::task
