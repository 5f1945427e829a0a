// The page's part on the time of layers, and the tables at its end: every value of the records, and all epochs.
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

using record::EpochRecord;
using record::LayerRecord;

double layer_seconds(const LayerRecord& layer) {
  return layer.forward_s.value_or(0) + layer.backward_s.value_or(0);
}

std::string milliseconds_text(const std::optional<double>& seconds) {
  return seconds ? number_text(1e3 * *seconds) + " ms" : "–";
}

std::string name_text(const LayerRecord& layer) {
  std::string text = layer.name.empty() ? "(" + layer.what + ")" : layer.name;
  for (const std::string& other : layer.joined) text += " + " + other;
  return text;
}

HtmlRow layer_row(const LayerRecord& layer, double all_s) {
  const double seconds = layer_seconds(layer);
  std::string speed = "–", bytes = "–";
  if (layer.flops && *layer.flops > 0 && seconds > 0) {
    speed = number_text(static_cast<double>(*layer.flops) / seconds / 1e9);
  }
  if (layer.bytes) bytes = bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *layer.bytes)));
  return {{{escape_html(name_text(layer))},
           {layer.name.empty() ? "" : escape_html(layer.what)},
           {milliseconds_text(layer.forward_s)},
           {milliseconds_text(layer.backward_s)},
           share_cell(all_s > 0 ? std::optional(seconds / all_s) : std::nullopt),
           {speed},
           {bytes},
           share_cell(layer.roofline)}};
}

HtmlTable profile_table(const std::vector<LayerRecord>& layers) {
  double all_s = 0;
  for (const LayerRecord& layer : layers) all_s += layer_seconds(layer);
  HtmlTable table{.columns = {{"layer"},
                              {"kind"},
                              {"forward", true},
                              {"backward", true},
                              {"of the time", true},
                              {"GFLOP/s", true},
                              {"moves at least", true},
                              {"of the roof", true}}};
  for (const LayerRecord& layer : layers) table.rows.push_back(layer_row(layer, all_s));
  return table;
}

using Json = nlohmann::ordered_json;

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

std::string profile_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.record.layers.empty()) continue;
    html += "<details class=\"card\" open><summary>" + escape_html(run.name) + "</summary>" +
            profile_table(run.record.layers).scrolled() + "</details>";
  }
  return section_html("Time of each layer",
                      "Layers were timed one by one in a pass of their own, after the run: all together take longer "
                      "than in the run, where they overlap. The roof is the time in which the processor could do a "
                      "layer's operations at its peak of multiply-adds, or read what the layer moves from memory, "
                      "whichever is longer; a layer whose data stay in a cache can exceed it.",
                      html);
}

std::string details_part(std::span<const Run> runs) {
  std::string html =
      "<section><h2>Everything</h2><details class=\"card\"><summary>Every value of the records</summary><p "
      "class=\"explain\">Their names are those of record.json.</p>";
  if (runs.size() > 1) {
    html +=
        "<input type=\"checkbox\" id=\"only-differences\" checked class=\"only\"> <label for=\"only-differences\" "
        "class=\"only\">only what differs between the runs</label>";
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
