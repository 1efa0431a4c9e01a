// What plait uses of OpenCL, declared here so that a build needs no headers of it, and found when a queue of OpenCL's first appears: no
// library is linked. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plait/opencl.h"

namespace plait::queue::opencl {

using Status = std::int32_t;
using Bool = std::uint32_t;
using Flags = std::uint64_t;
using Name = std::uint32_t;
using PlatformHandle = struct PlatformObject*;
using DeviceHandle = struct DeviceObject*;
using QueueHandle = struct QueueObject*;
using EventHandle = struct EventObject*;
using ContextHandle = _cl_context*;
using BufferHandle = _cl_mem*;
using EventCallback = void(EventHandle event, Status status, void* argument);

inline constexpr Status kSuccess = 0;
inline constexpr Status kComplete = 0;                ///< of a command; what has failed is below
inline constexpr Status kNotDone = 3;                 ///< CL_QUEUED, and what is above kComplete
inline constexpr Status kFailed = -14;                ///< CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
inline constexpr Name kExecutionStatus = 0x11D3;      ///< of an event
inline constexpr Name kQueueContext = 0x1090;         ///< of a queue
inline constexpr Name kQueueDevice = 0x1091;          ///< of a queue
inline constexpr Name kContextDevices = 0x1081;       ///< of a context
inline constexpr Name kMemoryType = 0x1100;           ///< of a memory object
inline constexpr Name kMemorySize = 0x1102;           ///< of a memory object
inline constexpr Name kMemoryContext = 0x1106;        ///< of a memory object
inline constexpr std::uint32_t kTypeBuffer = 0x10F0;  ///< a memory object's

struct Api {
  Status (*clGetPlatformIDs)(std::uint32_t, PlatformHandle*, std::uint32_t*);
  Status (*clGetContextInfo)(ContextHandle, Name, std::size_t, void*, std::size_t*);
  Status (*clRetainContext)(ContextHandle);
  Status (*clReleaseContext)(ContextHandle);
  QueueHandle (*clCreateCommandQueue)(ContextHandle, DeviceHandle, Flags, Status*);
  Status (*clGetCommandQueueInfo)(QueueHandle, Name, std::size_t, void*, std::size_t*);
  Status (*clRetainCommandQueue)(QueueHandle);
  Status (*clReleaseCommandQueue)(QueueHandle);
  Status (*clFlush)(QueueHandle);
  Status (*clFinish)(QueueHandle);
  Status (*clEnqueueMarkerWithWaitList)(QueueHandle, std::uint32_t, const EventHandle*, EventHandle*);
  Status (*clEnqueueBarrierWithWaitList)(QueueHandle, std::uint32_t, const EventHandle*, EventHandle*);
  EventHandle (*clCreateUserEvent)(ContextHandle, Status*);
  Status (*clSetUserEventStatus)(EventHandle, Status);
  Status (*clSetEventCallback)(EventHandle, Status, EventCallback*, void*);
  Status (*clGetEventInfo)(EventHandle, Name, std::size_t, void*, std::size_t*);
  Status (*clWaitForEvents)(std::uint32_t, const EventHandle*);
  Status (*clReleaseEvent)(EventHandle);
  Status (*clGetMemObjectInfo)(BufferHandle, Name, std::size_t, void*, std::size_t*);
  Status (*clRetainMemObject)(BufferHandle);
  Status (*clReleaseMemObject)(BufferHandle);
  Status (*clEnqueueReadBuffer)(QueueHandle, BufferHandle, Bool, std::size_t, std::size_t, void*, std::uint32_t, const EventHandle*,
                                EventHandle*);
  Status (*clEnqueueWriteBuffer)(QueueHandle, BufferHandle, Bool, std::size_t, std::size_t, const void*, std::uint32_t, const EventHandle*,
                                 EventHandle*);
  Status (*clEnqueueSVMMemcpy)(QueueHandle, Bool, void*, const void*, std::size_t, std::uint32_t, const EventHandle*,
                               EventHandle*);  ///< null before OpenCL 2.0
};

/// Null where the library is not found; `why` says so then.
[[nodiscard]] const Api* load(std::string& why);
/// Once `load` has found it.
[[nodiscard]] const Api& api() noexcept;

/// Whether a value can be an object of OpenCL's at all. The calls follow a pointer in it, and would crash on what is none, or is freed.
[[nodiscard]] bool is_object(const void* value) noexcept;

/// What an object is asked for. False where it has none.
template <class Object, class Value>
[[nodiscard]] bool ask(Status (*call)(Object, Name, std::size_t, void*, std::size_t*), Object object, Name name, Value& value) noexcept {
  return call(object, name, sizeof(Value), static_cast<void*>(&value), nullptr) == kSuccess;
}
/// Has a context the device? What is no context is found out here: an implementation may look at no type.
[[nodiscard]] bool is_context_of(ContextHandle context, DeviceHandle device);

}  // namespace plait::queue::opencl
