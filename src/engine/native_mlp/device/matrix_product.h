// Products of matrices on an accelerator.
#pragma once

#include <memory>

#include "engine/matrix_product.h"

namespace evener::engine::native_mlp {

/// Makes a MatrixProduct by the kernel of a perceptron's layer. Throws Error where the device can't be opened, and
/// OutOfMemory.
std::unique_ptr<MatrixProduct> make_device_matrix_product(const MatrixOptions& options);

}  // namespace evener::engine::native_mlp
