#include "job/labels/labels_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/plural.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "report/format.h"

namespace evener::job {
namespace {

constexpr std::size_t kMostRows = 20, kMostPairs = 10;

using Kind = std::pair<const char*, const char*>;
constexpr std::array<Kind, 4> kClassKinds = {Kind{"wrong", "look like another class"},
                                             Kind{"likely", "may be another class"},
                                             Kind{"both", "look like both classes"}, Kind{"neither", "look like none"}};
constexpr std::array<Kind, 4> kBoxKinds = {
    Kind{"missed", "objects without a label"}, Kind{"extra", "labels where nothing is found"},
    Kind{"class", "labels of another class"}, Kind{"fit", "labels that fit badly"}};

std::size_t count_of(const LabelFindings& findings, const char* kind) {
  return static_cast<std::size_t>(std::ranges::count(findings.found, kind, &LabelFinding::kind));
}

std::string class_sums(const LabelFindings& findings) {
  const double share = findings.labels > 0 ? findings.estimated / static_cast<double>(findings.labels) : 0;
  const std::size_t wrong = count_of(findings, "wrong"), likely = count_of(findings, "likely");
  std::string text =
      fmt::format("{} of {} labels look wrong{}; {:.0f} ({:.1f} %) are estimated to be", wrong, findings.labels,
                  likely > 0 ? fmt::format(", and {} may well be", likely) : "", findings.estimated, 100 * share);
  const std::size_t both = count_of(findings, "both"), neither = count_of(findings, "neither");
  if (both > 0) text += fmt::format("; {} {} like both classes", both, both == 1 ? "looks" : "look");
  if (neither > 0) text += fmt::format("; {} {} like none", neither, neither == 1 ? "looks" : "look");
  return text;
}

std::string box_sums(const LabelFindings& findings) {
  std::string text;
  for (const auto& [kind, words] : kBoxKinds) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_of(findings, kind), words);
  }
  return fmt::format("{}; among {} on {}", text, counted(findings.labels, "label"), counted(findings.images, "image"));
}

/// A table with columns as wide as their longest cell.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], report::display_width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line += std::string(widths[c] - report::display_width(row[c]) + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string name_cell(const std::string& name) {
  return name.empty() ? "-" : one_line(to_utf8_text(name));
}

std::vector<std::vector<std::string>> label_rows(const LabelFindings& findings) {
  std::vector<std::vector<std::string>> rows = {{"score", "kind", "label", "looks like", "P", "P of label", "file"}};
  for (const LabelFinding& one : findings.found) {
    if (rows.size() > kMostRows) break;
    rows.push_back({fmt::format("{:.2f}", one.score), one.kind, name_cell(one.label), name_cell(one.suggested),
                    fmt::format("{:.2f}", one.probability), fmt::format("{:.2f}", one.label_probability),
                    one_line(to_utf8_text(one.file))});
  }
  return rows;
}

std::vector<std::vector<std::string>> pair_rows(const LabelFindings& findings) {
  std::vector<std::vector<std::string>> rows = {{"label", "looks like", "found", "estimated", "of the label"}};
  for (const LabelPair& pair : findings.pairs) {
    if (rows.size() > kMostPairs) break;
    rows.push_back({name_cell(pair.label), name_cell(pair.suggested), std::to_string(pair.found),
                    fmt::format("{:.0f}", pair.estimated), fmt::format("{:.1f} %", 100 * pair.share)});
  }
  return rows;
}

}  // namespace

std::vector<std::string> label_sentences(const LabelFindings& findings) {
  return {(findings.has_boxes ? box_sums(findings) : class_sums(findings)) + ".",
          "Judged by " + findings.judged_by + "."};
}

std::string labels_text(const LabelFindings& findings) {
  std::string text;
  if (!findings.found.empty()) text += table_text(label_rows(findings));
  if (findings.found.size() > kMostRows) text += fmt::format("and {} more\n", findings.found.size() - kMostRows);
  if (!findings.pairs.empty()) text += "\n" + table_text(pair_rows(findings));
  if (findings.pairs.size() > kMostPairs) text += fmt::format("and {} more\n", findings.pairs.size() - kMostPairs);
  if (!text.empty()) text += "\n";
  for (const std::string& sentence : label_sentences(findings)) text += sentence + "\n";
  return text;
}

nlohmann::ordered_json labels_json(const LabelFindings& findings) {
  using Json = nlohmann::ordered_json;
  Json kinds = Json::object();
  if (findings.has_boxes) {
    for (const auto& [kind, words] : kBoxKinds) kinds[kind] = count_of(findings, kind);
  } else {
    for (const auto& [kind, words] : kClassKinds) kinds[kind] = count_of(findings, kind);
  }
  Json pairs = Json::array();
  for (const LabelPair& pair : findings.pairs) {
    pairs.push_back({{"label", pair.label},
                     {"suggested", pair.suggested},
                     {"found", pair.found},
                     {"estimated", pair.estimated},
                     {"share", pair.share}});
  }
  Json json = {{"schema", 1},
               {"kind", "data labels"},
               {"location", findings.location},
               {"images", findings.images},
               {"labels", findings.labels},
               {"found", kinds},
               {"judged_by", findings.judged_by},
               {"notes", findings.notes},
               {"skipped", findings.skipped.size()}};
  if (findings.has_boxes) return json;
  json["estimated"] = findings.estimated;
  json["share"] = findings.labels > 0 ? findings.estimated / static_cast<double>(findings.labels) : 0;
  json["accuracy"] = findings.accuracy ? Json(*findings.accuracy) : Json(nullptr);
  json["pairs"] = std::move(pairs);
  return json;
}

}  // namespace evener::job
