#include "infer/run/layer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/simd_level.h"
#include "measure/peak_rate.h"
#include "measure/peaks.h"

namespace evener::inference {
namespace {

using record::LayerRecord;

double seconds_of(const LayerRecord& layer) {
  return layer.forward_s.value_or(0) + layer.backward_s.value_or(0);
}

/// The efficiency: the least possible time of a layer divided by its measured time.
std::optional<double> roofline(const LayerProfile& layer, const measure::PeakRate& peak) {
  const double seconds = layer.time.forward_s + layer.time.backward_s.value_or(0);
  if (!layer.flops || !layer.bytes || !peak.gflops || !peak.memory_gb_per_s || seconds <= 0) return std::nullopt;
  const double computing_s = static_cast<double>(*layer.flops) / (*peak.gflops * 1e9);
  const double moving_s = static_cast<double>(*layer.bytes) / (*peak.memory_gb_per_s * 1e9);
  return std::max(computing_s, moving_s) / seconds;
}

LayerRecord layer_record(const LayerProfile& layer, const measure::PeakRate& peak) {
  LayerRecord record;
  if (!layer.time.layers.empty()) {
    record.name = layer.time.layers.front();
    record.joined.assign(layer.time.layers.begin() + 1, layer.time.layers.end());
  }
  record.what = layer.time.what;
  record.forward_s = layer.time.forward_s;
  record.backward_s = layer.time.backward_s;
  record.flops = layer.flops;
  record.bytes = layer.bytes;
  record.roofline = roofline(layer, peak);
  return record;
}

std::string note_text(const NetworkProfile& profile, const measure::PeakRate& peak) {
  std::string text =
      fmt::format("layers were timed one by one after the run, in {} of {} with the engine '{}'",
                  counted(profile.passes, "pass", "passes"), counted(profile.batch, "image"), profile.engine);
  if (!peak.gflops || !peak.memory_gb_per_s) return text + "; no share of a peak: " + peak.reason;
  return text + fmt::format("; peaks: {} ({}), {} from memory", measure::gflops_text(*peak.gflops), peak.of,
                            si_text(*peak.memory_gb_per_s * 1e9, "B/s"));
}

struct Cells {
  std::string name, what, forward, backward, share, speed, bytes, roofline;
};

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", *seconds * 1e3) : "-";
}

Cells cells_of(const LayerRecord& layer, double all_s) {
  const double seconds = seconds_of(layer);
  Cells cells;
  cells.name = layer.name.empty() ? "(" + layer.what + ")" : layer.name;
  if (!layer.joined.empty()) cells.name += " +" + std::to_string(layer.joined.size());
  cells.what = layer.name.empty() ? "" : layer.what;
  cells.forward = milliseconds(layer.forward_s);
  cells.backward = milliseconds(layer.backward_s);
  cells.share = fmt::format("{:.1f} %", 100 * seconds / all_s);
  const bool computes = layer.flops && *layer.flops > 0 && seconds > 0;
  cells.speed = computes ? fmt::format("{:.1f}", static_cast<double>(*layer.flops) / seconds / 1e9) : "-";
  cells.bytes = layer.bytes ? bytes_text(static_cast<std::uint64_t>(*layer.bytes)) : "-";
  cells.roofline = layer.roofline ? fmt::format("{:.0f} %", 100 * *layer.roofline) : "-";
  return cells;
}

LayerRecord sum_of(const std::vector<LayerRecord>& layers) {
  LayerRecord sum;
  sum.name = "all";
  sum.forward_s = 0;
  sum.flops = sum.bytes = 0;
  double roof_s = 0;
  bool roofs = false;
  for (const LayerRecord& layer : layers) {
    *sum.forward_s += layer.forward_s.value_or(0);
    if (layer.backward_s) sum.backward_s = sum.backward_s.value_or(0) + *layer.backward_s;
    *sum.flops += layer.flops.value_or(0);
    *sum.bytes += layer.bytes.value_or(0);
    if (layer.roofline) roof_s += *layer.roofline * seconds_of(layer);
    roofs = roofs || layer.roofline.has_value();
  }
  if (std::ranges::none_of(layers, [](const LayerRecord& layer) { return layer.flops.has_value(); })) sum.flops = {};
  if (std::ranges::none_of(layers, [](const LayerRecord& layer) { return layer.bytes.has_value(); })) sum.bytes = {};
  if (roofs && seconds_of(sum) > 0) sum.roofline = roof_s / seconds_of(sum);
  return sum;
}

}  // namespace

void add_layers(const std::filesystem::path& folder, record::Record& record, measure::Observer& observer,
                const std::function<NetworkProfile()>& profile) {
  observer.show("timing layers");
  const NetworkProfile found = profile();
  observer.finish();
  if (found.layers.empty()) {
    record.notes.push_back("no layers were timed: " + found.reason);
  } else {
    const Device device{found.threads > 0 ? DeviceKind::kCpu : DeviceKind::kCuda, 0};
    measure::PeakRate peak = measure::peak_rate(device, found.threads, {}, found.precision);
    if (found.in_int8) {
      peak.gflops = std::nullopt;
      peak.reason = "the network computes in int8, whose peak is not measured";
    }
    record.layers.clear();
    for (const LayerProfile& layer : found.layers) record.layers.push_back(layer_record(layer, peak));
    record.notes.push_back(note_text(found, peak));
  }
  observer.note("note: " + record.notes.back());
  if (!folder.empty()) record::write_record(folder, record);
}

std::string layers_text(const record::Record& record) {
  if (record.layers.empty()) return "";
  const LayerRecord sum = sum_of(record.layers);
  std::vector<Cells> rows = {
      {"layer", "kind", "forward ms", "backward ms", "of the time", "GFLOP/s", "moves", "of the roof"}};
  for (const LayerRecord& layer : record.layers) rows.push_back(cells_of(layer, seconds_of(sum)));
  rows.push_back(cells_of(sum, seconds_of(sum)));
  std::size_t name_width = 0, what_width = 0;
  for (const Cells& row : rows) {
    name_width = std::max(name_width, row.name.size());
    what_width = std::max(what_width, row.what.size());
  }
  const bool trains = sum.backward_s.has_value();
  std::string text;
  for (const Cells& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>10}", row.name, name_width, row.what, what_width, row.forward);
    if (trains) text += fmt::format("  {:>11}", row.backward);
    text += fmt::format("  {:>11}  {:>8}  {:>8}  {:>11}\n", row.share, row.speed, row.bytes, row.roofline);
  }
  return text + "\n";
}

}  // namespace evener::inference
