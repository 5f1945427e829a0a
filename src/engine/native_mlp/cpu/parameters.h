// All parameters of a network in one array, in the layout that the kernels want, and their way from and to tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/native_mlp/cpu/layers.h"
#include "engine/native_mlp/cpu/memory.h"
#include "network/network.h"

namespace evener::engine::native_mlp {

enum class Layout {
  kRowMajor,     // (outputs, inputs), as in a state dict
  kColumnMajor,  // (inputs, outputs)
  kPanels        // over the outputs (kernels.h); what is filled up stays zero
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
  /// Values of an array of all.
  std::size_t size() const { return size_; }

  /// Row-major tensors of an array; names get `suffix`. `all`: those that aren't trained too.
  void read(const Array& array, const std::string& suffix, bool all, TensorMap& to) const;
  /// The opposite. Throws Error naming a tensor that is missing (from `what`) or of another shape.
  void write(const TensorMap& from, const std::string& suffix, bool all, const char* what, const Array& array) const;

  /// The parameter `index` of an array in the layout that `there` says, from one in this layout.
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
