#include "job/info/tensors_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "task/inference/trained_model.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

const char* type_name(DType type) {
  switch (type) {
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
  }
  return "?";
}

/// A tensor as the list tells it.
struct TensorRow {
  std::string name, shape, type;
  std::int64_t numbers = 0;
};

std::string shape_cell(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "one number" : shape_text(shape);
}

/// Those that can be read, and those of other types, by their names.
std::vector<TensorRow> rows_of(const weights::SafetensorsFile& file) {
  std::vector<TensorRow> rows;
  for (const auto& [name, tensor] : file.tensors) {
    rows.push_back({name, shape_cell(tensor.shape), type_name(tensor.dtype), element_count(tensor.shape)});
  }
  for (const weights::PassedOver& one : file.passed_over) {
    rows.push_back({one.name, shape_cell(one.shape), one.type, element_count(one.shape)});
  }
  std::ranges::sort(rows, {}, &TensorRow::name);
  return rows;
}

std::string heading_text(const fs::path& path, std::size_t tensors, std::int64_t numbers) {
  if (tensors == 0) return path.string() + ": it holds no tensors\n";
  return fmt::format("{}: {} with {} numbers; it doesn't say of which network\n", path.string(),
                     counted(tensors, "tensor"), numbers);
}

}  // namespace

std::string info_row(const char* what, const std::string& value) {
  return fmt::format("{:<14}{}\n", what, value);
}

Description tensors_info(const fs::path& path, const weights::SafetensorsFile& file) {
  Description info;
  std::int64_t numbers = 0;
  std::size_t widest = 4, widest_shape = 20, widest_type = 9;
  ordered_json list = ordered_json::array();
  for (const auto& [name, tensor] : file.tensors) {
    list.push_back({{"name", name},
                    {"shape", tensor.shape},
                    {"type", type_name(tensor.dtype)},
                    {"numbers", element_count(tensor.shape)}});
  }
  for (const weights::PassedOver& one : file.passed_over) {
    list.push_back(
        {{"name", one.name}, {"shape", one.shape}, {"type", one.type}, {"numbers", element_count(one.shape)}});
  }
  const std::vector<TensorRow> rows = rows_of(file);
  for (const TensorRow& row : rows) {
    numbers += row.numbers;
    widest = std::max(widest, printable(row.name).size());
    widest_shape = std::max(widest_shape, row.shape.size());
    widest_type = std::max(widest_type, printable(row.type).size());
  }
  info.text = heading_text(path, rows.size(), numbers);
  ordered_json fitting = ordered_json::array();
  for (const task::FittingNetwork& one : task::fitting_networks(file)) {
    const std::string outputs = one.outputs > 0 ? fmt::format(" with {} outputs", one.outputs) : "";
    info.text += info_row("fits", fmt::format("{}{}: use it as '{}'", one.model, outputs, one.usage(path)));
    for (const std::string& note : one.notes) info.text += info_row("", note);
    fitting.push_back(
        {{"model", one.model}, {"outputs", one.outputs > 0 ? ordered_json(one.outputs) : ordered_json()}});
  }
  if (!rows.empty() && fitting.empty()) info.text += info_row("fits", "no network of the zoo");
  const auto line = [&](const std::string& name, const std::string& shape, const std::string& type, const auto& count) {
    info.text +=
        fmt::format("{:<{}}  {:<{}} {:<{}} {:>12}\n", name, widest, shape, widest_shape, type, widest_type, count);
  };
  if (!rows.empty()) info.text += "\n";
  if (!rows.empty()) line("name", "shape", "type", "numbers");
  for (const TensorRow& row : rows) line(printable(row.name), row.shape, printable(row.type), row.numbers);
  info.json = {{"schema", 1},           {"kind", "info"},  {"file", path.string()}, {"model", nullptr},
               {"parameters", numbers}, {"fits", fitting}, {"tensors", list}};
  return info;
}

}  // namespace evener::job
