/* tenure_d3d12.h: tenure on a Direct3D 12 device of the program. Needs no header of Direct3D's, and suits it in any order.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Written by `cargo xtask header` from the code of the crate tenure-c: edit that.
 */
#ifndef TENURE_D3D12_H
#define TENURE_D3D12_H

#include "tenure.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ID3D12Device;
struct ID3D12CommandQueue;
struct ID3D12Fence;
struct ID3D12Resource;
