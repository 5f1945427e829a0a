// The tables at the end of the page: every value of the records side by side, and all epochs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "record/record_json.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

using Json = nlohmann::ordered_json;
using record::EpochRecord;

constexpr std::size_t kLongestText = 300;
/// Keys that are shown elsewhere on the page, or whose values are too long for a table.
constexpr const char* kLeftOut[] = {"epochs", "command", "missing", "validity", "schema", "confusion", "layers"};

std::string scalar_text(const Json& value, bool is_bytes = false) {
  if (value.is_null()) return "–";
  if (is_bytes && value.is_number()) return bytes_text(static_cast<std::uint64_t>(std::max(0.0, value.get<double>())));
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

std::string list_text(const Json& list) {
  std::string text;
  for (const Json& element : list) text += (text.empty() ? "" : ", ") + scalar_text(element);
  if (text.empty()) return "none";
  return text.size() > kLongestText ? text.substr(0, kLongestText) + fmt::format(" … ({} values)", list.size()) : text;
}

/// Leaves of a record in their order: ("times_s.total", "203.4").
void flatten(const Json& value, const std::string& path, std::vector<std::pair<std::string, std::string>>& leaves) {
  const bool plain_list = value.is_array() && std::none_of(value.begin(), value.end(),
                                                           [](const Json& element) { return element.is_structured(); });
  if (plain_list) {
    leaves.emplace_back(path, list_text(value));
  } else if (value.is_array()) {
    for (std::size_t n = 0; n < value.size(); ++n) flatten(value[n], fmt::format("{}[{}]", path, n), leaves);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, path.empty() ? key : path + "." + key, leaves);
  } else {
    leaves.emplace_back(path, scalar_text(value, path.find("_bytes") != std::string::npos));
  }
}

struct ValueRows {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> cells;  // path -> one text per run
};

ValueRows value_rows(std::span<const Run> runs) {
  ValueRows rows;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    Json json = record::to_json(runs[n].record);
    for (const char* key : kLeftOut) json.erase(key);
    std::vector<std::pair<std::string, std::string>> leaves;
    flatten(json, "", leaves);
    for (const auto& [path, text] : leaves) {
      auto& cells = rows.cells[path];
      if (cells.empty()) {
        cells.assign(runs.size(), "–");
        rows.order.push_back(path);
      }
      cells[n] = text;
    }
  }
  // Insert a path that only a later run has beside the others of its group.
  std::stable_sort(rows.order.begin(), rows.order.end(), [&](const std::string& a, const std::string& b) {
    const auto group_of = [](const std::string& path) { return path.substr(0, path.find_first_of(".[")); };
    const auto place_of = [&](const std::string& group) {
      return std::find_if(rows.order.begin(), rows.order.end(),
                          [&](const std::string& path) { return group_of(path) == group; });
    };
    return group_of(a) != group_of(b) && place_of(group_of(a)) < place_of(group_of(b));
  });
  return rows;
}

HtmlTable everything_table(std::span<const Run> runs) {
  const ValueRows rows = value_rows(runs);
  HtmlTable table{.columns = {{"value"}}, .style = "everything", .has_row_headings = true};
  for (std::size_t n = 0; n < runs.size(); ++n) {
    table.columns.push_back({.title = runs[n].name, .html = swatch(n) + escape_html(runs[n].name)});
  }
  for (const std::string& path : rows.order) {
    const auto& cells = rows.cells.at(path);
    const bool same = std::ranges::all_of(cells, [&](const std::string& cell) { return cell == cells.front(); });
    HtmlRow& row = table.rows.emplace_back();
    row.attributes = runs.size() > 1 && !same ? " class=\"different\"" : " class=\"same\"";
    row.cells.push_back({escape_html(path)});
    for (const std::string& cell : cells) row.cells.push_back({escape_html(cell)});
  }
  return table;
}

HtmlTable epochs_table(const record::Record& record) {
  HtmlTable table;
  for (const char* title : {"epoch", "seconds", "images/s", "learning rate", "training loss", "training accuracy",
                            "validation loss", "validation accuracy"}) {
    table.columns.push_back({title, true});
  }
  const auto number = [](const std::optional<double>& value, const char* format) {
    return value ? fmt::format(fmt::runtime(format), *value) : "–";
  };
  for (const EpochRecord& epoch : record.training.epochs) {
    table.rows.push_back({{{std::to_string(epoch.epoch)},
                           {number(epoch.seconds, "{:.2f}")},
                           {epoch.images_per_s ? number_text(*epoch.images_per_s) : "–"},
                           {number(epoch.lr, "{:.4g}")},
                           {number(epoch.train_loss, "{:.4f}")},
                           {percent_text(epoch.train_accuracy)},
                           {number(epoch.val_loss, "{:.4f}")},
                           {percent_text(epoch.val_accuracy)}}});
  }
  return table;
}

}  // namespace

std::string details_part(std::span<const Run> runs) {
  std::string html =
      "<section><h2>Everything</h2><details class=\"card\"><summary>Every value of the records</summary><p "
      "class=\"explain\">Their names are those of record.json.</p>";
  if (runs.size() > 1) {
    html +=
        "<input type=\"checkbox\" id=\"only-differences\" checked class=\"only\"> "
        "<label for=\"only-differences\" class=\"only\">only what differs between the runs</label>";
  }
  html += everything_table(runs).scrolled() + "</details>";
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (runs[n].record.training.epochs.empty()) continue;
    html += fmt::format("<details class=\"card\"><summary>Epochs of {}</summary>{}</details>",
                        escape_html(runs[n].name), epochs_table(runs[n].record).scrolled());
  }
  return html + "</section>";
}

}  // namespace evener::report
