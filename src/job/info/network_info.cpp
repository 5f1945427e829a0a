#include "job/info/network_info.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/names.h"
#include "base/tensor.h"
#include "network/cost.h"
#include "task/training/training_memory.h"

namespace evener::job {
namespace {

using namespace network;

// Layer, kind, output, parameters, MFLOPs, activations: 97 columns.
constexpr const char* kRow = "{:<27} {:<16} {:<13} {:>12} {:>12} {:>12}\n";

// "21,797,672"
std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

// "conv2d 7x7/2", "conv2d 1x7/2x1": the kind with its window and stride.
std::string kind_text(const Op& op) {
  const auto window = [&](const Extent2d& kernel, const Extent2d& stride) {
    const std::string both = stride.is_square() ? "" : fmt::format("x{}", stride.width);
    const std::string step = stride == Extent2d{1} ? "" : fmt::format("/{}{}", stride.height, both);
    return fmt::format("{} {}x{}{}", op_name(op), kernel.height, kernel.width, step);
  };
  if (const auto* conv = std::get_if<Conv2d>(&op)) return window(conv->kernel, conv->stride);
  if (const auto* pool = std::get_if<MaxPool>(&op)) return window(pool->kernel, pool->stride);
  if (const auto* pool = std::get_if<AveragePool>(&op)) return window(pool->kernel, pool->stride);
  return op_name(op);
}

std::string table_text(const Network& net) {
  const std::vector<LayerCost> costs = layer_costs(net);
  const std::string heading = fmt::format(kRow, "layer", "kind", "output", "parameters", "MFLOP", "activations");
  const std::string rule(heading.size() - 1, '-');
  std::string text = heading + rule + "\n";
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Layer& layer = net.layers()[i];
    const LayerCost& cost = costs[i];
    text +=
        fmt::format(kRow, layer.name, kind_text(layer.op), shape_text(layer.shape),
                    cost.parameters > 0 ? grouped(cost.parameters) : "",
                    cost.forward_flops > 0 ? fmt::format("{:.3f}", static_cast<double>(cost.forward_flops) * 1e-6) : "",
                    bytes_text(static_cast<std::uint64_t>(cost.activation_bytes)));
  }
  const LayerCost total = total_cost(net);
  text += rule + "\n" +
          fmt::format(kRow, "total", "", "", grouped(total.parameters),
                      fmt::format("{:.3f}", static_cast<double>(total.forward_flops) * 1e-6),
                      bytes_text(static_cast<std::uint64_t>(total.activation_bytes)));
  return text;
}

/// At blanks, so that no line is longer than the table's.
std::string in_lines(std::string text) {
  constexpr std::size_t kWidth = 100;
  for (std::size_t begin = 0; text.size() - begin > kWidth;) {
    const std::size_t blank = text.rfind(' ', begin + kWidth);
    if (blank == std::string::npos || blank <= begin + 2) break;
    text.replace(blank, 1, "\n  ");
    begin = blank + 1;
  }
  return text;
}

std::string summary_text(const Network& net, const task::TrainingWork& work) {
  const LayerCost total = total_cost(net);
  const TrainingMemory memory = training_memory(net);
  const auto bytes = [](std::int64_t value) { return bytes_text(static_cast<std::uint64_t>(value)); };
  const auto flop = [](std::int64_t value) { return si_text(static_cast<double>(value), "FLOP"); };
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<18} {}\n", what, value);
  };
  line("parameters", fmt::format("{} = {} in float32", grouped(total.parameters), bytes(memory.weight_bytes)));
  line("forward", fmt::format("{} per image, of them {} multiply-adds (x 2) in products", flop(total.forward_flops),
                              si_text(static_cast<double>(forward_macs(net)))));
  line("training", fmt::format("{} per image: forward and backward", flop(total.forward_flops + total.backward_flops)));
  const task::MemoryEstimate estimate = task::estimated_memory(net, work);
  return text + fmt::format("\na training with {}, on CPUs, --batch {}, takes beside decoded images, estimated,\n{}\n",
                            engine::optimizer_name(work.trainer.optimizer.kind), work.batch,
                            in_lines(task::memory_without_images_text(estimate)));
}

nlohmann::ordered_json layer_json(const Network& net, std::size_t index, const LayerCost& cost) {
  const Layer& layer = net.layers()[index];
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const int input : layer.inputs) inputs.push_back(net.layers()[static_cast<std::size_t>(input)].name);
  return {{"name", layer.name},
          {"kind", op_name(layer.op)},
          {"inputs", inputs},
          {"output", layer.shape},
          {"parameters", cost.parameters},
          {"forward_flops", cost.forward_flops},
          {"backward_flops", cost.backward_flops},
          {"activation_bytes", cost.activation_bytes}};
}

nlohmann::ordered_json outputs_json(const Network& net) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const Output& output : net.outputs()) {
    outputs.push_back({{"name", output.name},
                       {"layer", net.layers()[static_cast<std::size_t>(output.layer)].name},
                       {"shape", net.output_shape(output)}});
  }
  return outputs;
}

}  // namespace

nlohmann::ordered_json network_json(const Network& net, const task::TrainingWork& work) {
  const std::vector<LayerCost> costs = layer_costs(net);
  const LayerCost total = total_cost(net);
  const TrainingMemory memory = training_memory(net);
  const task::MemoryEstimate estimate = task::estimated_memory(net, work);
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < costs.size(); ++i) layers.push_back(layer_json(net, i, costs[i]));
  return {{"schema", 1},
          {"kind", "info"},
          {"model", net.model()},
          {"input", net.input_shape()},
          {"output", net.output_shape()},
          {"outputs", outputs_json(net)},
          {"parameters", total.parameters},
          {"forward_macs", forward_macs(net)},
          {"forward_flops", total.forward_flops},
          {"backward_flops", total.backward_flops},
          {"activation_bytes", total.activation_bytes},
          {"training_memory",
           {{"source", "estimated"},
            {"weight_bytes", memory.weight_bytes},
            {"gradient_bytes", memory.gradient_bytes},
            {"buffer_bytes", memory.buffer_bytes},
            {"batch", work.batch},
            {"kept_bytes", estimate.weight_bytes},
            {"step_bytes", estimate.step_bytes},
            {"batch_bytes", estimate.batch_bytes},
            {"program_bytes", estimate.program_bytes},
            {"peak_bytes", estimate.total_bytes() - estimate.image_bytes}}},
          {"layers", layers}};
}

std::string network_text(const Network& net, const task::TrainingWork& work) {
  return fmt::format("{}: input {} (C, H, W), {}\n\n{}\n{}", net.model(), shape_text(net.input_shape()),
                     outputs_text(net), table_text(net), summary_text(net, work));
}

}  // namespace evener::job
