// Pooling and padding.
#include <openvino/op/util/avg_pool_base.hpp>
#include <openvino/op/util/max_pool_base.hpp>
#include <openvino/op/util/pad_base.hpp>

#include "engine/openvino/description.h"

namespace evener::engine::openvino_engine {

using namespace network;

Place Description::average(const ov::op::util::AvgPoolBase& pool, const NodePtr& node) {
  const Shape& in = shape_at(node, 0);
  const Extent2d kernel = extent_of(pool.get_kernel());
  const bool is_padded = extent_of(pool.get_pads_begin()) != Extent2d(0);
  const bool is_one_window = sample_shape(node->output(0)) == Shape{in.at(0), 1, 1};
  if (kernel == Extent2d(in.at(1), in.at(2)) && is_one_window && !is_padded) return add(node, GlobalAveragePool{});
  if (pool.get_pads_begin() != pool.get_pads_end()) fail(node);
  return add(node, AveragePool{.kernel = kernel,
                               .stride = extent_of(pool.get_strides()),
                               .padding = extent_of(pool.get_pads_begin()),
                               .ceil_mode = pool.get_rounding_type() != ov::op::RoundingType::FLOOR,
                               .count_include_pad = !pool.get_exclude_pad()});
}

Place Description::mean(const op::ReduceMean& mean, const NodePtr& node) {
  std::vector<std::int64_t> axes = constants_.integers(node->input_value(1));
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
  if (std::set<std::int64_t>(axes.begin(), axes.end()) != std::set<std::int64_t>{2, 3}) fail(node);
  const Place place = add(node, GlobalAveragePool{});
  return mean.get_keep_dims() ? place : add(unique_name(node), Flatten{}, {place.layer});
}

Place Description::pad(const ov::op::util::PadBase& pad, const NodePtr& node) {
  const ov::CoordinateDiff before = pad.get_pads_begin(), after = pad.get_pads_end();
  const bool is_zeros = pad.get_pad_mode() == ov::op::PadMode::CONSTANT &&
                        (node->get_input_size() < 4 || is_one_value(floats(node, 3), 0));
  if (!is_zeros || before.size() != 4 || before[0] + before[1] + after[0] + after[1] != 0) fail(node);
  return add(node, Pad{{before[2], before[3]}, {after[2], after[3]}});
}

std::optional<Place> Description::window(const NodePtr& node) {
  if (has_gaps<ov::op::v8::MaxPool>(node) || has_gaps<ov::op::v14::MaxPool>(node) ||
      has_gaps<ov::op::v16::AvgPool>(node)) {
    fail(node);
  }
  if (const auto pool = ov::as_type_ptr<ov::op::util::AvgPoolBase>(node)) return average(*pool, node);
  if (const auto pool = ov::as_type_ptr<ov::op::util::MaxPoolBase>(node)) {
    if (pool->get_pads_begin() != pool->get_pads_end()) fail(node);
    return add(node, MaxPool{.kernel = extent_of(pool->get_kernel()),
                             .stride = extent_of(pool->get_strides()),
                             .padding = extent_of(pool->get_pads_begin()),
                             .ceil_mode = pool->get_rounding_type() != ov::op::RoundingType::FLOOR});
  }
  if (const auto reduced = ov::as_type_ptr<op::ReduceMean>(node)) return mean(*reduced, node);
  if (const auto padded = ov::as_type_ptr<ov::op::util::PadBase>(node)) return pad(*padded, node);
  return {};
}

}  // namespace evener::engine::openvino_engine
