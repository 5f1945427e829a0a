#include "network/criterion.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace evener::network {
namespace {

std::string op_text(const CriterionOp& op) {
  if (std::holds_alternative<MeanSquaredError>(op)) return "mse";
  const auto* boxes = std::get_if<MultiBox>(&op);
  if (boxes == nullptr) return "cross-entropy";
  return boxes->box_loss == BoxLoss::kSmoothL1 ? "multi-box"
                                               : std::string("multi-box:") + box_loss_name(boxes->box_loss);
}

std::string term_text(const CriterionTerm& term) {
  std::string text = op_text(term.op);
  if (term.weight == 1) return text;
  std::ostringstream weighted;
  weighted << term.weight << '*' << text;
  return weighted.str();
}

std::ptrdiff_t index_of(const std::vector<Output>& outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &Output::name);
  return found == outputs.end() ? -1 : found - outputs.begin();
}

std::string why_term_unfit(const CriterionTerm& term, const Network& network) {
  const std::string which = "the criterion's term '" + term.name + "' ";
  if (!std::isfinite(term.weight)) return which + "has a weight that is not finite";
  if (term.outputs.size() > 1) {
    return which + "reads " + std::to_string(term.outputs.size()) + " outputs, but compares one with its targets";
  }
  for (const auto& name : term.outputs) {
    if (index_of(network.outputs(), name) >= 0) continue;
    std::string known;
    for (const auto& output : network.outputs()) known += (known.empty() ? "'" : ", '") + output.name + "'";
    return which + "reads an output '" + name + "', but '" + network.model() + "' has " + known;
  }
  for (const std::size_t index : outputs_of(term, network)) {
    const Output& output = network.outputs()[index];
    if (network.layers()[static_cast<std::size_t>(output.layer)].shape.size() == 1) continue;
    return which + "reads the output '" + output.name + "', which is no vector of scores";
  }
  return {};
}

std::string why_boxes_unfit(const Criterion& criterion, const Network& network) {
  if (criterion.terms.size() > 1) return "a criterion for boxes has no other terms";
  if (criterion.terms.front().weight != 1) return "a criterion for boxes has no weight";
  if (!network.anchors().empty()) return {};
  return "'" + network.model() + "' is no detector: it says nothing of boxes, which the criterion compares";
}

}  // namespace

const char* box_loss_name(BoxLoss loss) {
  return loss == BoxLoss::kSmoothL1 ? "smooth-l1" : "giou";
}

Criterion multi_box(BoxLoss box_loss) {
  return {{{MultiBox{.box_loss = box_loss}, 1, {"boxes", "scores"}}}};
}

const MultiBox* boxes_term(const Criterion& criterion) {
  for (const auto& term : criterion.terms) {
    if (const auto* boxes = std::get_if<MultiBox>(&term.op)) return boxes;
  }
  return nullptr;
}

Criterion cross_entropy(double label_smoothing) {
  return {{{CrossEntropy{label_smoothing}}}};
}

Criterion mean_squared_error() {
  return {{{MeanSquaredError{}}}};
}

std::string criterion_text(const Criterion& criterion) {
  if (criterion.terms.size() == 1) return term_text(criterion.terms.front());
  std::string text;
  for (const auto& term : criterion.terms) text += (text.empty() ? "" : "+") + term.name + "=" + term_text(term);
  return text;
}

std::vector<std::string> sum_names(const Criterion& criterion) {
  if (boxes_term(criterion) != nullptr) return {"loss", "box_loss", "class_loss"};
  std::vector<std::string> names = {"loss"};
  if (criterion.terms.size() > 1) {
    for (const auto& term : criterion.terms) names.push_back(term.name);
  }
  names.push_back("correct");
  return names;
}

std::string why_unfit(const Criterion& criterion, const Network& network) {
  if (criterion.terms.empty()) return "the criterion has no term";
  if (boxes_term(criterion) != nullptr) return why_boxes_unfit(criterion, network);
  const std::vector<std::string> names = sum_names(criterion);
  if (std::set(names.begin(), names.end()).size() != names.size()) {
    return "two sums of the criterion have one name; each term needs a name of its own, none 'loss' or 'correct'";
  }
  for (const auto& term : criterion.terms) {
    if (std::string why = why_term_unfit(term, network); !why.empty()) return why;
  }
  return {};
}

std::vector<std::size_t> outputs_of(const CriterionTerm& term, const Network& network) {
  if (term.outputs.empty()) return {0};
  std::vector<std::size_t> indices;
  for (const auto& name : term.outputs) {
    indices.push_back(static_cast<std::size_t>(index_of(network.outputs(), name)));
  }
  return indices;
}

}  // namespace evener::network
