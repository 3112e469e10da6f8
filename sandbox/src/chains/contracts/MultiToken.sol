// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

interface ERC1155Receiver {
    function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes calldata data)
        external
        returns (bytes4);

    function onERC1155BatchReceived(
        address operator,
        address from,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external returns (bytes4);
}

/// An ERC-1155 contract with a URI for each id. Anybody may mint.
contract MultiToken {
    uint256 public nextId = 1;
    mapping(uint256 id => mapping(address account => uint256)) private balances;
    mapping(uint256 id => string) public uri;
    mapping(address account => mapping(address operator => bool)) public isApprovedForAll;

    event TransferSingle(
        address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
    );
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );
    event ApprovalForAll(address indexed account, address indexed operator, bool approved);
    event URI(string value, uint256 indexed id);

    error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId);
    error ERC1155InvalidReceiver(address receiver);
    error ERC1155MissingApprovalForAll(address operator, address owner);
    error ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength);

    function supportsInterface(bytes4 id) external pure returns (bool) {
        // ERC-165, ERC-1155, ERC-1155 Metadata
        return id == 0x01ffc9a7 || id == 0xd9b67a26 || id == 0x0e89341c;
    }

    function balanceOf(address account, uint256 id) external view returns (uint256) {
        return balances[id][account];
    }

    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory found)
    {
        if (accounts.length != ids.length) revert ERC1155InvalidArrayLength(ids.length, accounts.length);
        found = new uint256[](ids.length);
        for (uint256 i = 0; i < ids.length; i++) found[i] = balances[ids[i]][accounts[i]];
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// Mints one token of a new id.
    function mint(address to, string calldata uri_) external returns (uint256 id) {
        id = nextId++;
        uri[id] = uri_;
        emit URI(uri_, id);
        add(to, id, 1, "");
    }

    function mint(address to, uint256 id, uint256 amount, bytes calldata data) external {
        if (id >= nextId) nextId = id + 1;
        add(to, id, amount, data);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata data) external {
        checkTransfer(from, to);
        move(from, to, id, value);
        emit TransferSingle(msg.sender, from, to, id, value);
        checkReceiver(from, to, id, value, data);
    }

    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata values,
        bytes calldata data
    ) external {
        if (ids.length != values.length) revert ERC1155InvalidArrayLength(ids.length, values.length);
        checkTransfer(from, to);
        for (uint256 i = 0; i < ids.length; i++) move(from, to, ids[i], values[i]);
        emit TransferBatch(msg.sender, from, to, ids, values);
        if (to.code.length == 0) return;
        try ERC1155Receiver(to).onERC1155BatchReceived(msg.sender, from, ids, values, data) returns (bytes4 answer) {
            if (answer != ERC1155Receiver.onERC1155BatchReceived.selector) revert ERC1155InvalidReceiver(to);
        } catch {
            revert ERC1155InvalidReceiver(to);
        }
    }

    function add(address to, uint256 id, uint256 amount, bytes memory data) private {
        if (to == address(0)) revert ERC1155InvalidReceiver(to);
        balances[id][to] += amount;
        emit TransferSingle(msg.sender, address(0), to, id, amount);
        checkReceiver(address(0), to, id, amount, data);
    }

    function checkTransfer(address from, address to) private view {
        if (to == address(0)) revert ERC1155InvalidReceiver(to);
        if (msg.sender != from && !isApprovedForAll[from][msg.sender])
            revert ERC1155MissingApprovalForAll(msg.sender, from);
    }

    function move(address from, address to, uint256 id, uint256 value) private {
        uint256 balance = balances[id][from];
        if (balance < value) revert ERC1155InsufficientBalance(from, balance, value, id);
        balances[id][from] = balance - value;
        balances[id][to] += value;
    }

    function checkReceiver(address from, address to, uint256 id, uint256 value, bytes memory data) private {
        if (to.code.length == 0) return;
        try ERC1155Receiver(to).onERC1155Received(msg.sender, from, id, value, data) returns (bytes4 answer) {
            if (answer != ERC1155Receiver.onERC1155Received.selector) revert ERC1155InvalidReceiver(to);
        } catch {
            revert ERC1155InvalidReceiver(to);
        }
    }
}
