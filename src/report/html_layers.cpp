// The page's parts on layers: the time of each layer, and the quantisation error of each layer.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

using record::LayerRecord;

/// The ratio with a full bar: 8 bits give at best about 50 dB.
constexpr double kFullBar_db = 50;

HtmlTable noise_table(const Run& run) {
  HtmlTable table{.columns = {{"layer"}, {"computed in"}, {"SQNR", true}}};
  for (const LayerNoise& layer : run.layers) {
    HtmlCell noise{.html = "no noise"};
    if (layer.sqnr_db)
      noise = {.html = fmt::format("{:.1f} dB", *layer.sqnr_db), .share = *layer.sqnr_db / kFullBar_db};
    table.rows.push_back({{{escape_html(layer.layer)}, {layer.quantized ? "int8" : "float"}, noise}});
  }
  return table;
}

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

}  // namespace

std::string layers_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.layers.empty()) continue;
    html += "<h3>" + escape_html(run.name) + "</h3>" + noise_table(run).html();
  }
  if (html.empty()) return "";
  return "<section><h2>Layers</h2><p>How far each layer's results are from those in float, with all that came before "
         "them: signal to quantisation noise, where more is better.</p>" +
         html + "</section>";
}

std::string profile_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.record.layers.empty()) continue;
    html += "<details class=\"card\" open><summary>" + escape_html(run.name) + "</summary>" +
            profile_table(run.record.layers).scrolled() + "</details>";
  }
  if (html.empty()) return "";
  return "<section><h2>Time of each layer</h2><p>Layers were timed one by one in a pass of their own, after the run: "
         "all together take longer than in the run, where they overlap. The roof is the time in which the processor "
         "could do a layer's operations at its peak of multiply-adds, or read what the layer moves from memory, "
         "whichever "
         "is longer; a layer whose data stay in a cache can exceed it.</p>" +
         html + "</section>";
}

}  // namespace evener::report
