// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Nft} from "../../sandbox/chains/contracts/Nft.sol";

/// An ERC-721 contract with the Enumerable extension.
contract EnumerableNft is Nft {
    uint256[] private all;
    mapping(address owner => uint256[]) private owned;
    mapping(uint256 tokenId => uint256) private position;

    error ERC721OutOfBoundsIndex(address owner, uint256 index);

    constructor() Nft("Enumerable NFT", "ENUM") {}

    function supportsInterface(bytes4 id) external pure override returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd || id == 0x5b5e139f || id == 0x780e9d63;
    }

    function totalSupply() external view returns (uint256) {
        return all.length;
    }

    function tokenByIndex(uint256 index) external view returns (uint256) {
        if (index >= all.length) revert ERC721OutOfBoundsIndex(address(0), index);
        return all[index];
    }

    function tokenOfOwnerByIndex(address owner, uint256 index) external view returns (uint256) {
        if (index >= owned[owner].length) revert ERC721OutOfBoundsIndex(owner, index);
        return owned[owner][index];
    }

    function update(address from, address to, uint256 tokenId) internal override {
        super.update(from, to, tokenId);
        if (from == address(0)) {
            all.push(tokenId);
        } else {
            uint256[] storage list = owned[from];
            uint256 last = list[list.length - 1];
            list[position[tokenId]] = last;
            position[last] = position[tokenId];
            list.pop();
        }
        position[tokenId] = owned[to].length;
        owned[to].push(tokenId);
    }
}
