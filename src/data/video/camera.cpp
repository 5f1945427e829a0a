#include "data/video/camera.h"

#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/stop.h"
#include "data/codecs/decode.h"

namespace evener::data {
namespace {

constexpr std::uint32_t kWantedWidth = 1280, kWantedHeight = 720;
constexpr std::uint32_t kBuffers = 4;
constexpr int kWaitMs = 100;
constexpr double kSilent_s = 10;  // a camera that gives nothing for so long is broken

int control(const Descriptor& device, unsigned long request, void* argument) {
  int result = 0;
  do {
    result = ::ioctl(device.get(), request, argument);
  } while (result < 0 && errno == EINTR);
  return result;
}

struct CameraFormat {
  std::uint32_t pixels = 0;
  std::int64_t width = 0, height = 0;
  std::size_t row_bytes = 0;
};

class CameraFrame : public VideoFrame {
 public:
  CameraFrame(std::string bytes, const CameraFormat& format, double time_s)
      : bytes_(std::move(bytes)), format_(format), time_s_(time_s) {}

  FramePlace place() const override { return {std::llround(time_s_ * 1e6), time_s_, true}; }
  Picture picture() const override {
    if (format_.pixels != V4L2_PIX_FMT_YUYV) return decode_picture(bytes_);
    return from_yuyv(bytes_, format_.width, format_.height, format_.row_bytes);
  }

 private:
  const std::string bytes_;
  const CameraFormat format_;
  const double time_s_;
};

/// Memory of the driver.
class Mapping {
 public:
  Mapping(const Descriptor& device, const v4l2_buffer& buffer)
      : bytes_(buffer.length),
        start_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, device.get(), buffer.m.offset)) {
    if (start_ == MAP_FAILED) throw Error(std::string("its memory can't be reached: ") + std::strerror(errno));
  }
  Mapping(Mapping&& other) noexcept : bytes_(other.bytes_), start_(std::exchange(other.start_, MAP_FAILED)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (start_ != MAP_FAILED) ::munmap(start_, bytes_);
  }
  std::string first(std::size_t count) const { return {static_cast<const char*>(start_), std::min(count, bytes_)}; }

 private:
  std::size_t bytes_;
  void* start_;
};

class Camera : public VideoReader {
 public:
  explicit Camera(const std::filesystem::path& path) : device_(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) {
    if (!device_.valid()) throw Error("it can't be opened: " + file_error_text(errno, path));
    require_camera();
    choose_format();
    start();
  }

  std::unique_ptr<VideoFrame> next() override {
    const double since_s = now_s();
    while (!stopped_ && !stop_requested()) {
      pollfd wanted{device_.get(), POLLIN, 0};
      const int ready = ::poll(&wanted, 1, kWaitMs);
      if (ready < 0 && errno != EINTR) fail(errno);
      if (ready <= 0) {
        if (now_s() - since_s > kSilent_s) throw Error("it gives no more frames; is another program using it?");
        continue;
      }
      v4l2_buffer buffer = an_empty_buffer();
      if (control(device_, VIDIOC_DQBUF, &buffer) < 0) {
        if (errno == EAGAIN) continue;
        fail(errno);
      }
      const bool is_whole = (buffer.flags & V4L2_BUF_FLAG_ERROR) == 0 && buffer.bytesused > 0;
      std::string bytes = is_whole ? buffers_.at(buffer.index).first(buffer.bytesused) : std::string();
      const double time_s =
          static_cast<double>(buffer.timestamp.tv_sec) + 1e-6 * static_cast<double>(buffer.timestamp.tv_usec);
      if (control(device_, VIDIOC_QBUF, &buffer) < 0) fail(errno);
      if (!is_whole) continue;
      if (first_s_ < 0) first_s_ = time_s;
      return std::make_unique<CameraFrame>(std::move(bytes), format_, time_s - first_s_);
    }
    throw Interrupted("stopped while waiting for a camera");
  }

  bool seek(const FramePlace& /*key*/) override { return false; }
  void stop() override { stopped_ = true; }

 private:
  [[noreturn]] static void fail(int error) {
    if (error == ENODEV || error == EIO) throw Error("it is gone: was it unplugged?");
    throw Error(std::string("it can't be read: ") + std::strerror(error));
  }

  static v4l2_buffer an_empty_buffer() {
    v4l2_buffer buffer{};
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    return buffer;
  }

  void require_camera() {
    v4l2_capability able{};
    const bool answers = control(device_, VIDIOC_QUERYCAP, &able) == 0;
    const std::uint32_t can = (able.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? able.device_caps : able.capabilities;
    if (!answers || (can & V4L2_CAP_VIDEO_CAPTURE) == 0 || (can & V4L2_CAP_STREAMING) == 0) {
      throw Error("it is no camera; the cameras of this machine are among /dev/video*");
    }
  }

  /// JPEG files where the camera makes them: more of them pass through a cable.
  void choose_format() {
    std::string offered;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0;; ++i) {
      v4l2_fmtdesc one{};
      one.index = i;
      one.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
      if (control(device_, VIDIOC_ENUM_FMT, &one) < 0) break;
      const bool is_jpeg = one.pixelformat == V4L2_PIX_FMT_MJPEG || one.pixelformat == V4L2_PIX_FMT_JPEG;
      if (is_jpeg || (one.pixelformat == V4L2_PIX_FMT_YUYV && best == 0)) best = one.pixelformat;
      offered += (offered.empty() ? "" : ", ") + std::string(reinterpret_cast<const char*>(one.description));
    }
    if (best == 0) throw Error("it gives no JPEG and no YUYV frames, but " + (offered.empty() ? "none" : offered));
    v4l2_format format{};
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    format.fmt.pix.width = kWantedWidth;
    format.fmt.pix.height = kWantedHeight;
    format.fmt.pix.pixelformat = best;
    format.fmt.pix.field = V4L2_FIELD_ANY;
    if (control(device_, VIDIOC_S_FMT, &format) < 0) fail(errno);
    format_ = {format.fmt.pix.pixelformat, format.fmt.pix.width, format.fmt.pix.height, format.fmt.pix.bytesperline};
    if (format_.pixels != best) throw Error("it doesn't give frames of the kind that it offers");
  }

  void start() {
    v4l2_requestbuffers wanted{};
    wanted.count = kBuffers;
    wanted.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    wanted.memory = V4L2_MEMORY_MMAP;
    if (control(device_, VIDIOC_REQBUFS, &wanted) < 0) {
      if (errno == EBUSY) throw Error("another program is using it");
      fail(errno);
    }
    for (std::uint32_t i = 0; i < wanted.count; ++i) {
      v4l2_buffer buffer = an_empty_buffer();
      buffer.index = i;
      if (control(device_, VIDIOC_QUERYBUF, &buffer) < 0) fail(errno);
      buffers_.emplace_back(device_, buffer);
      if (control(device_, VIDIOC_QBUF, &buffer) < 0) fail(errno);
    }
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (control(device_, VIDIOC_STREAMON, &type) < 0) {
      if (errno == EBUSY) throw Error("another program is using it");
      fail(errno);
    }
  }

  Descriptor device_;  // closing it ends the stream
  CameraFormat format_;
  std::vector<Mapping> buffers_;
  std::atomic<bool> stopped_ = false;
  double first_s_ = -1;
};

}  // namespace

Picture from_yuyv(std::string_view bytes, std::int64_t width, std::int64_t height, std::size_t row_bytes) {
  const auto pairs = static_cast<std::size_t>((width + 1) / 2);
  row_bytes = std::max(row_bytes, 4 * pairs);
  if (height < 1 || bytes.size() < row_bytes * static_cast<std::size_t>(height - 1) + 4 * pairs) {
    throw Error("the frame is cut short");
  }
  Picture picture = Picture::unset(3, height, width);
  const auto byte = [](double value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); };
  for (std::int64_t y = 0; y < height; ++y) {
    const auto* const from =
        reinterpret_cast<const std::uint8_t*>(bytes.data()) + static_cast<std::size_t>(y) * row_bytes;
    std::uint8_t* const to = picture.row(y);
    for (std::int64_t x = 0; x < width; ++x) {
      const std::uint8_t* const pair = from + 4 * (x / 2);
      const double luma = 255.0 / 219 * (pair[2 * (x % 2)] - 16);
      const double blue = 255.0 / 224 * (pair[1] - 128), red = 255.0 / 224 * (pair[3] - 128);
      // BT.601: Kr = 0.299, Kb = 0.114.
      to[3 * x] = byte(luma + 1.402 * red);
      to[3 * x + 1] = byte(luma - 0.344136 * blue - 0.714136 * red);
      to[3 * x + 2] = byte(luma + 1.772 * blue);
    }
  }
  return picture;
}

std::unique_ptr<VideoReader> open_camera(const std::filesystem::path& path) {
  return std::make_unique<Camera>(path);
}

}  // namespace evener::data
