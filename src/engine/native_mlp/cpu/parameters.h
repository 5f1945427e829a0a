// The dense layers of a perceptron, the layout of all their parameters in one array, as the kernels need it, and
// conversions from and to tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/memory.h"
#include "network/network.h"

namespace evener::engine::native_mlp {

/// y = function(x W^T + b).
struct Dense {
  std::int64_t inputs = 0, outputs = 0;
  bool bias = true;
  Function function = Function::kIdentity;
  std::size_t weight_parameter = 0, bias_parameter = 0;  // indices into Network::parameters()

  std::int64_t columns() const { return (outputs + kColumns - 1) / kColumns * kColumns; }
};

/// Why a network is no perceptron that this engine can compute; "" if it is one.
std::string why_no_mlp(const network::Network& network);

/// The dense layers of a network for which why_no_mlp() is empty.
std::vector<Dense> dense_layers(const network::Network& network);

enum class Layout {
  kRowMajor,     // (outputs, inputs), as in a state dict
  kColumnMajor,  // (inputs, outputs)
  kPanels        // over the outputs (kernels.h); padding stays zero
};

class Parameters {
 public:
  Parameters(const network::Network& network, const std::vector<Dense>& layers, Layout layout);

  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;   // as in the network
    std::size_t offset = 0, size = 0;  // of its values in an array
    bool trained = true;
  };
  /// In the order of Network::parameters().
  const std::vector<Entry>& entries() const { return entries_; }
  /// The number of values in an array of all parameters.
  std::size_t size() const { return size_; }

  /// Copies an array's parameters to row-major tensors in `to`, under their names with `suffix`. `all`: also those that
  /// aren't trained.
  void read(const Array& array, const std::string& suffix, bool all, TensorMap& to) const;
  /// The inverse of read(). Throws Error naming a tensor that is missing (from `what`) or of another shape.
  void write(const TensorMap& from, const std::string& suffix, bool all, const char* what, const Array& array) const;

  /// Copies parameter `index` from an array in this layout to one in the layout of `there`.
  void copy(std::size_t index, const Array& from, const Parameters& there, const Array& to) const;

 private:
  std::int64_t place_of(const Entry& entry, std::int64_t output, std::int64_t input) const;
  template <class Visit>
  void for_each(const Entry& entry, Visit visit) const;

  Layout layout_;
  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace evener::engine::native_mlp
