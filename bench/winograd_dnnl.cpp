#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/winograd.h"

namespace evener {
namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Descriptions {
  memory::desc x, weights, y;  // in whatever layout the primitive prefers
  memory::dims strides = {1, 1}, padding = {1, 1};
};

Descriptions describe(const ConvolutionSize& s) {
  const auto of = [](const memory::dims& extents) {
    return memory::desc(extents, memory::data_type::f32, memory::format_tag::any);
  };
  return {of({s.images, s.channels, s.height, s.width}), of({s.channels, s.channels, 3, 3}),
          of({s.images, s.channels, s.height, s.width})};
}

dnnl::engine cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::function<void()> execution(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
  const auto stream = std::make_shared<dnnl::stream>(cpu());
  return [=] {
    primitive.execute(*stream, arguments);
    stream->wait();
  };
}

dnnl::convolution_forward::primitive_desc forward_of(const Descriptions& d, algorithm how) {
  return {{dnnl::prop_kind::forward_training, how, d.x, d.weights, d.y, d.strides, d.padding, d.padding}, cpu()};
}

std::function<void()> forward(const ConvolutionSize& size, algorithm how) {
  const auto made = forward_of(describe(size), how);
  return execution(dnnl::convolution_forward(made), {{DNNL_ARG_SRC, {made.src_desc(), cpu()}},
                                                     {DNNL_ARG_WEIGHTS, {made.weights_desc(), cpu()}},
                                                     {DNNL_ARG_DST, {made.dst_desc(), cpu()}}});
}

std::function<void()> input_gradient(const ConvolutionSize& size, algorithm how) {
  const Descriptions d = describe(size);
  const dnnl::convolution_backward_data::primitive_desc made(
      {how, d.x, d.weights, d.y, d.strides, d.padding, d.padding}, cpu(), forward_of(d, how));
  return execution(dnnl::convolution_backward_data(made), {{DNNL_ARG_DIFF_SRC, {made.diff_src_desc(), cpu()}},
                                                           {DNNL_ARG_WEIGHTS, {made.weights_desc(), cpu()}},
                                                           {DNNL_ARG_DIFF_DST, {made.diff_dst_desc(), cpu()}}});
}

std::function<void()> weight_gradient(const ConvolutionSize& size, algorithm how) {
  const Descriptions d = describe(size);
  const dnnl::convolution_backward_weights::primitive_desc made(
      {how, d.x, d.weights, d.y, d.strides, d.padding, d.padding}, cpu(), forward_of(d, how));
  return execution(dnnl::convolution_backward_weights(made),
                   {{DNNL_ARG_SRC, {made.src_desc(), cpu()}},
                    {DNNL_ARG_DIFF_WEIGHTS, {made.diff_weights_desc(), cpu()}},
                    {DNNL_ARG_DIFF_DST, {made.diff_dst_desc(), cpu()}}});
}

}  // namespace

std::vector<Peer> peers() {
  std::vector<Peer> list;
  for (const auto& [name, how] :
       {std::pair{"direct", algorithm::convolution_direct}, std::pair{"winograd", algorithm::convolution_winograd}}) {
    const std::string prefix = std::string("libdnnl_") + name;
    list.push_back({prefix + "/forward", [how](const ConvolutionSize& size) { return forward(size, how); }});
    list.push_back({prefix + "/input_gradient", [how](const ConvolutionSize& s) { return input_gradient(s, how); }});
    list.push_back({prefix + "/weight_gradient", [how](const ConvolutionSize& s) { return weight_gradient(s, how); }});
  }
  return list;
}

}  // namespace evener
