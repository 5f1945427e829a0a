#include "engine/native/parameters.h"

#include <algorithm>

#include "base/error.h"

namespace evener::engine::native {
namespace {

constexpr std::size_t kAlignment = 64;  // values; more than a cache line, so that each begins with one

}  // namespace

Parameters::Parameters(const network::Network& network, const std::vector<Dense>& layers, Layout layout)
    : layout_(layout) {
  for (const auto& parameter : network.parameters()) {
    Entry entry{parameter.name, parameter.shape, 0, 0, parameter.trained};
    entry.size = static_cast<std::size_t>(element_count(parameter.shape));
    entries_.push_back(std::move(entry));
  }
  if (layout == Layout::kPanels) {
    for (const Dense& layer : layers) {
      entries_[layer.weight_parameter].size = static_cast<std::size_t>(layer.columns() * layer.inputs);
      if (layer.bias) entries_[layer.bias_parameter].size = static_cast<std::size_t>(layer.columns());
    }
  }
  for (Entry& entry : entries_) {
    entry.offset = size_;
    size_ += (entry.size + kAlignment - 1) / kAlignment * kAlignment;
  }
}

/// visit(place in the array, place in the row-major tensor) for each value.
template <class Visit>
void Parameters::for_each(const Entry& entry, Visit visit) const {
  const std::int64_t outputs = entry.shape.front();
  const std::int64_t inputs = entry.shape.size() == 2 ? entry.shape.back() : 1;
  const std::int64_t columns = static_cast<std::int64_t>(entry.size) / std::max<std::int64_t>(inputs, 1);
  for (std::int64_t o = 0; o < outputs; ++o) {
    const std::int64_t panel = o / kPanel * kPanel, width = std::min(kPanel, columns - panel);
    for (std::int64_t i = 0; i < inputs; ++i) {
      const std::int64_t row_major = o * inputs + i;
      const std::int64_t place = layout_ == Layout::kRowMajor ? row_major : panel * inputs + i * width + o - panel;
      visit(entry.offset + static_cast<std::size_t>(place), row_major);
    }
  }
}

void Parameters::read(const Array& array, const std::string& suffix, bool all, TensorMap& to) const {
  for (const Entry& entry : entries_) {
    if (!all && !entry.trained) continue;
    HostTensor tensor;
    tensor.shape = entry.shape;
    tensor.bytes.resize(static_cast<std::size_t>(element_count(entry.shape)) * sizeof(float));
    for_each(entry,
             [&](std::size_t place, std::int64_t row_major) { tensor.floats()[row_major] = array.data()[place]; });
    to.insert_or_assign(entry.name + suffix, std::move(tensor));
  }
}

void Parameters::write(const TensorMap& from, const std::string& suffix, bool all, const char* what,
                       const Array& array) const {
  for (const Entry& entry : entries_) {
    if (!all && !entry.trained) continue;
    const auto found = from.find(entry.name + suffix);
    if (found == from.end()) throw Error(std::string(what) + " no '" + entry.name + suffix + "'");
    if (found->second.shape != entry.shape) {
      throw Error("tensor '" + found->first + "' is " + shape_text(found->second.shape) + ", the network needs " +
                  shape_text(entry.shape));
    }
    const HostTensor tensor = found->second.to_floats();
    for_each(entry,
             [&](std::size_t place, std::int64_t row_major) { array.data()[place] = tensor.floats()[row_major]; });
  }
}

}  // namespace evener::engine::native
