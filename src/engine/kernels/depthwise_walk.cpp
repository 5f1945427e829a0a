#include "engine/kernels/depthwise_walk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/memory.h"

namespace evener::engine::kernels {
namespace {

constexpr int kMostTaps = 7;

/// Sums are kept in float32 over rows of about this many pixels.
constexpr std::int64_t kPixelsTogether = 128;

/// Begins at a line of the cache.
template <class T>
using Scratch = std::vector<T, PageAllocator<T>>;

/// Rows of images: those of `source`, or, if that is null, rows that make(image, row, to) computes, of which the last
/// `slots` are kept.
template <class T, class Make>
class RowWindow {
 public:
  RowWindow(const T* source, std::int64_t rows, std::int64_t values, std::int64_t slots, Make make)
      : source_(source),
        rows_(rows),
        values_(values),
        slots_(slots),
        make_(std::move(make)),
        ring_(source == nullptr ? static_cast<std::size_t>(slots * values) : 0) {}

  /// Makes sure that rows [first, last] of an image are there; no more than `slots`, and never rows before those asked
  /// for last.
  void need(std::int64_t image, std::int64_t first, std::int64_t last) {
    const bool goes_on = image == image_ && first <= next_;
    image_ = image;
    if (source_ != nullptr) return;
    if (!goes_on) next_ = first;
    for (; next_ <= last; ++next_) make_(image, next_, ring_.data() + next_ % slots_ * values_);
  }

  const T* operator[](std::int64_t row) const {
    return source_ != nullptr ? source_ + (image_ * rows_ + row) * values_ : ring_.data() + row % slots_ * values_;
  }

 private:
  const T* const source_;
  const std::int64_t rows_, values_, slots_;
  const Make make_;
  Scratch<T> ring_;
  std::int64_t image_ = -1, next_ = 0;
};

/// The convolution's input rows, normalised.
template <class T>
auto input_rows(const Kernels<T>& kernels, const DepthwiseShape& s, const T* x, const ChannelNorm& before) {
  const auto normalize = [&kernels, &s, x, &before](std::int64_t image, std::int64_t row, T* to) {
    kernels.normalize(x + (image * s.height + row) * s.width * s.channels, nullptr, to, s.width, s.channels,
                      before.scale, before.shift, before.clamp);
  };
  return RowWindow<T, decltype(normalize)>(before.scale == nullptr ? x : nullptr, s.height, s.width * s.channels,
                                           s.kernel, normalize);
}

/// The gradients of the convolution's output rows.
template <class T>
auto gradient_rows(const Kernels<T>& kernels, const DepthwiseBackward<T>& pass) {
  const DepthwiseShape& s = pass.shape;
  const auto differentiate = [&kernels, &pass](std::int64_t image, std::int64_t row, T* to) {
    const DepthwiseShape& shape = pass.shape;
    const std::int64_t at = (image * shape.out_height + row) * shape.out_width * shape.channels;
    const ChannelNorm& norm = pass.after;
    kernels.input_gradient(
        {pass.y + at, nullptr, pass.dy + at, shape.out_width, shape.channels, norm.scale, norm.shift, norm.clamp},
        norm.scale, pass.slope, pass.offset, to);
  };
  // An input row at oh * stride + j, j < stride, is under windows from oh - (kernel - 1 - padding) / stride on, and up
  // to oh + (j + padding) / stride.
  const std::int64_t slots = (s.kernel - 1 - s.padding) / s.stride + 1 + (s.stride - 1 + s.padding) / s.stride;
  return RowWindow<T, decltype(differentiate)>(pass.after.scale == nullptr ? pass.dy : nullptr, s.out_height,
                                               s.out_width * s.channels, slots, differentiate);
}

/// Fills `under` with the input rows under the window of output row `oh`.
template <class T, class Rows>
void take_window(const DepthwiseShape& s, Rows& rows, std::int64_t image, std::int64_t oh, const T** under) {
  const std::int64_t first = oh * s.stride - s.padding;
  rows.need(image, std::max<std::int64_t>(first, 0), std::min(first + s.kernel, s.height) - 1);
  for (std::int64_t kh = 0; kh < s.kernel; ++kh) {
    under[kh] = first + kh >= 0 && first + kh < s.height ? rows[first + kh] : nullptr;
  }
}

/// The number of output rows that are done together, at most.
std::int64_t rows_together(const DepthwiseShape& s) {
  return std::max<std::int64_t>(1, kPixelsTogether / s.out_width);
}

std::int64_t groups_of_image(const DepthwiseShape& s) {
  return (s.out_height + rows_together(s) - 1) / rows_together(s);
}

/// A group of output rows [first, last) of an image.
struct RowGroup {
  std::int64_t image, first, last;

  RowGroup(const DepthwiseShape& s, std::int64_t number)
      : image(number / groups_of_image(s)),
        first(number % groups_of_image(s) * rows_together(s)),
        last(std::min(first + rows_together(s), s.out_height)) {}
};

}  // namespace

std::int64_t depthwise_groups(const DepthwiseShape& shape) {
  return shape.batch * groups_of_image(shape);
}

template <class T>
void depthwise_forward(const Kernels<T>& kernels, const DepthwiseForward<T>& pass, std::int64_t begin, std::int64_t end,
                       double* sum, double* square_sum) {
  const DepthwiseShape& s = pass.shape;
  auto rows = input_rows(kernels, s, pass.x, pass.before);
  std::vector<float> scratch(static_cast<std::size_t>(2 * s.channels));
  const std::int64_t values = s.out_width * s.channels;
  // The kernels write a vector of channels of all pixels at a time. In the cache first, results then go to memory in
  // order.
  Scratch<T> results(static_cast<std::size_t>(rows_together(s) * values));
  for (std::int64_t number = begin; number < end; ++number) {
    const RowGroup group(s, number);
    const std::int64_t count = group.last - group.first;
    for (std::int64_t oh = group.first; oh < group.last; ++oh) {
      const T* under[kMostTaps];
      take_window(s, rows, group.image, oh, under);
      kernels.depthwise_forward(s, under, pass.weight, results.data() + (oh - group.first) * values);
    }
    std::copy_n(results.data(), count * values, pass.y + (group.image * s.out_height + group.first) * values);
    if (pass.pivot == nullptr) continue;
    kernels.moments(results.data(), count * s.out_width, s.channels, pass.pivot, sum, square_sum, scratch.data());
  }
}

template <class T>
void depthwise_backward(const Kernels<T>& kernels, const DepthwiseBackward<T>& pass, std::int64_t begin,
                        std::int64_t end, double* dweight, double* sum, double* sum_x) {
  const DepthwiseShape& s = pass.shape;
  auto inputs = input_rows(kernels, s, pass.x, pass.before);
  auto gradients = gradient_rows(kernels, pass);
  std::vector<float> scratch(static_cast<std::size_t>(2 * s.channels));
  std::vector<float> some(static_cast<std::size_t>(s.kernel * s.kernel * s.channels));
  const std::int64_t values = s.width * s.channels;
  // As forward; the last output rows of an image have up to kernel + stride more input rows.
  Scratch<T> results(static_cast<std::size_t>((rows_together(s) * s.stride + s.kernel + s.stride) * values));
  // The input rows that belong to output rows; the image's last output rows take all that remain.
  const auto first_input = [&](std::int64_t oh) {
    return oh == s.out_height ? s.height : std::min(oh * s.stride, s.height);
  };
  for (std::int64_t number = begin; number < end; ++number) {
    const RowGroup group(s, number);
    const std::int64_t image = group.image, first_ih = first_input(group.first);
    std::int64_t ih = first_ih;
    std::ranges::fill(some, 0.0F);
    for (std::int64_t oh = group.first; oh < group.last; ++oh) {
      const std::int64_t end_ih = first_input(oh + 1);
      const std::int64_t lowest = std::max<std::int64_t>(0, oh - (s.kernel - 1 - s.padding) / s.stride);
      const std::int64_t highest = std::clamp((end_ih - 1 + s.padding) / s.stride, oh, s.out_height - 1);
      gradients.need(image, lowest, highest);
      const T* under[kMostTaps];
      take_window(s, inputs, image, oh, under);
      kernels.depthwise_weight_gradient(s, under, gradients[oh], some.data());
      for (; ih < end_ih; ++ih) {
        const T* above[kMostTaps];
        for (std::int64_t kh = 0; kh < s.kernel; ++kh) {
          const std::int64_t at = ih + s.padding - kh;
          above[kh] =
              at >= 0 && at % s.stride == 0 && at / s.stride < s.out_height ? gradients[at / s.stride] : nullptr;
        }
        kernels.depthwise_input_gradient(s, above, pass.weight, pass.flipped,
                                         results.data() + (ih - first_ih) * values);
      }
    }
    for (std::size_t i = 0; i < some.size(); ++i) dweight[i] += some[i];
    const std::int64_t at = (image * s.height + first_ih) * values;
    const ChannelNorm& norm = pass.before;
    if (norm.scale == nullptr) {
      std::copy_n(results.data(), (ih - first_ih) * values, pass.dx + at);
    } else {
      kernels.gradient_sums({pass.x + at, nullptr, results.data(), (ih - first_ih) * s.width, s.channels, norm.scale,
                             norm.shift, norm.clamp},
                            pass.mean, pass.dx + at, sum, sum_x, scratch.data());
    }
  }
}

template void depthwise_forward(const Kernels<float>&, const DepthwiseForward<float>&, std::int64_t, std::int64_t,
                                double*, double*);
template void depthwise_forward(const Kernels<BFloat16>&, const DepthwiseForward<BFloat16>&, std::int64_t, std::int64_t,
                                double*, double*);
template void depthwise_backward(const Kernels<float>&, const DepthwiseBackward<float>&, std::int64_t, std::int64_t,
                                 double*, double*, double*);
template void depthwise_backward(const Kernels<BFloat16>&, const DepthwiseBackward<BFloat16>&, std::int64_t,
                                 std::int64_t, double*, double*, double*);

}  // namespace evener::engine::kernels
